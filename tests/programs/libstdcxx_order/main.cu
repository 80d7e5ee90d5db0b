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
        std::vector<Item> least(n / 3);
        std::partial_sort_copy(items.begin(), items.end(), least.begin(), least.end(), by_key);
        print("partial_sort_copy", least);
        std::make_heap(items.begin(), items.end(), by_key);
        print("make_heap", items);
        std::sort_heap(items.begin(), items.end(), by_key);
        print("sort_heap", items);
        std::priority_queue<Item, std::vector<Item>, decltype(&by_key)> queue(by_key);
        for (const Item &item : all) queue.push(item);
        for (items.clear(); !queue.empty(); queue.pop()) items.push_back(queue.top());
        print("queue", items);
    }
    std::vector<int> falling = {5, 4, 3, 2, 1};
    std::partial_sort(falling.begin(), falling.begin(), falling.end());
    for (int number : falling) printf("%d ", number);
    // Medians of three that divide badly, until heaps take over: equal keys show who did.
    const int half = 200;
    std::vector<Item> killer(2 * half);
    for (int i = 0; i < half; i++) {
        killer[i] = {(i % 2 ? half + i - 1 + half % 2 : i + 1) / 3, i};
        killer[half + i] = {2 * (i + 1) / 3, half + i};
    }
    std::sort(killer.begin(), killer.end(), by_key);
    unsigned order = 0;
    for (const Item &item : killer) order = order * 31 + item.index;
    printf("%u\n", order);

    // Its high_resolution_clock is the system's, which counts nanoseconds.
    std::chrono::time_point<std::chrono::system_clock> start = std::chrono::high_resolution_clock::now();
    std::time_t seconds = std::chrono::system_clock::to_time_t(start);
    printf("%d %d\n", std::chrono::system_clock::from_time_t(seconds) <= start,
           (int)(std::chrono::system_clock::period::den / 1000000));
    return 0;
}
