// What nvcc's programs print is libstdc++'s doing where elements compare equal.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <queue>
#include <vector>

struct Item { int key, index; };
bool by_key(const Item &a, const Item &b) { return a.key < b.key; }

void print(const char *what, const std::vector<Item> &items) {
    printf("%s:", what);
    for (const Item &item : items) printf(" %d", item.index);
    printf("\n");
}

int main() {
    for (int n : {12, 17, 40}) {
        std::vector<Item> all;
        for (int i = 0; i < n; i++) all.push_back({i * 7 % 5, i});
        std::vector<Item> items = all;
        std::sort(items.begin(), items.end(), by_key);
        print("sort", items);
        items = all;
        std::nth_element(items.begin(), items.begin() + n / 2, items.end(), by_key);
        print("nth_element", items);
        items = all;
        std::partial_sort(items.begin(), items.begin() + n / 3, items.end(), by_key);
        print("partial_sort", items);
        items = all;
        std::make_heap(items.begin(), items.end(), by_key);
        print("make_heap", items);
        std::sort_heap(items.begin(), items.end(), by_key);
        print("sort_heap", items);
        std::priority_queue<Item, std::vector<Item>, decltype(&by_key)> queue(by_key);
        for (const Item &item : all) queue.push(item);
        for (items.clear(); !queue.empty(); queue.pop()) items.push_back(queue.top());
        print("queue", items);
    }
    // A sequence that takes the median of three to its most depth, and numbers, whose order is their own.
    std::vector<int> organ(300);
    for (int i = 0; i < 300; i++) organ[i] = i < 150 ? i : 300 - i;
    std::sort(organ.begin(), organ.end(), [](int a, int b) { return a > b; });
    printf("%d %d %d %d\n", organ[0], organ[1], organ[150], organ[299]);
    std::sort(organ.begin(), organ.end());
    printf("%d %d\n", organ[0], std::is_sorted(organ.begin(), organ.end()));

    // Its high_resolution_clock is the system's, which counts nanoseconds.
    std::chrono::time_point<std::chrono::system_clock> start = std::chrono::high_resolution_clock::now();
    std::time_t seconds = std::chrono::system_clock::to_time_t(start);
    printf("%d %d\n", std::chrono::system_clock::from_time_t(seconds) <= start,
           (int)(std::chrono::system_clock::period::den / 1000000));
    return 0;
}
