// Cooperative groups for clang, as CUDA's programming guide has them; tiles of more than a warp are not there.
#pragma once
#include "cuda_runtime.h"
#define GRADER_GROUP __device__ inline __attribute__((always_inline, convergent, nodebug))
namespace cooperative_groups {
namespace grader {
GRADER_GROUP unsigned lane() { return __nvvm_read_ptx_sreg_laneid(); }
GRADER_GROUP unsigned before() { return (1u << lane()) - 1; }
GRADER_GROUP unsigned lane_of(unsigned mask, unsigned rank) { return mask == ~0u ? rank : __fns(mask, 0, (int)rank + 1); }
// The bits of `value` at the lanes of `mask`, moved together.
GRADER_GROUP unsigned packed(unsigned value, unsigned mask) {
    if (mask == ~0u) return value;
    unsigned result = 0;
    for (unsigned rank = 0; mask; mask &= mask - 1, rank++) result |= (value >> (__ffs((int)mask) - 1) & 1u) << rank;
    return result;
}
// Values of any type go word by word.
template <class T> GRADER_GROUP T from_lane(unsigned mask, const T &value, unsigned lane) {
    unsigned words[(sizeof(T) + 3) / 4] = {};
    T result = value;
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned &word : words) word = __shfl_sync(mask, word, (int)lane);
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
}
template <class T> struct plain { typedef T type; };
template <class T> struct plain<T &> { typedef T type; };
template <class T> struct plain<T &&> { typedef T type; };
template <class T> struct plain<const T &> { typedef T type; };
GRADER_GROUP unsigned blocks() { return gridDim.x * gridDim.y * gridDim.z; }
GRADER_GROUP unsigned block() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
GRADER_GROUP unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }
GRADER_GROUP unsigned thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
// Of the grid's barrier, which a cooperative launch has; null in any other.
GRADER_GROUP unsigned *arrived() {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    unsigned long long address = (unsigned long long)high << 32 | low;
    return address ? (unsigned *)(address + 4) : nullptr;
}
GRADER_GROUP void wait_for_grid() {
    unsigned *barrier = arrived();
    if (!barrier) __trap();
    __syncthreads();
    if (thread() == 0) {
        // The first block's share makes the highest bit turn once all have come.
        unsigned share = block() == 0 ? 0x80000000u - (blocks() - 1) : 1u;
        __threadfence();
        unsigned old = atomicAdd(barrier, share);
        while (((old ^ *(volatile unsigned *)barrier) & 0x80000000u) == 0) { }
        __threadfence();
    }
    __syncthreads();
}
}
enum class grader_kind : unsigned { block, grid, lanes };

// Any group: lanes of a warp by their mask.
class thread_group {
protected:
    grader_kind kind_;
    unsigned mask_;
    unsigned meta_rank_ = 0, meta_size_ = 1;
    GRADER_GROUP thread_group(grader_kind kind, unsigned mask) : kind_(kind), mask_(mask) { }
    friend GRADER_GROUP thread_group tiled_partition(const thread_group &parent, unsigned size);
public:
    GRADER_GROUP void sync() const {
        if (kind_ == grader_kind::lanes) __syncwarp(mask_);
        else if (kind_ == grader_kind::block) __syncthreads();
        else grader::wait_for_grid();
    }
    GRADER_GROUP unsigned long long num_threads() const {
        if (kind_ == grader_kind::lanes) return (unsigned)__popc(mask_);
        return kind_ == grader_kind::block ? grader::threads() : (unsigned long long)grader::blocks() * grader::threads();
    }
    GRADER_GROUP unsigned long long size() const { return num_threads(); }
    GRADER_GROUP unsigned long long thread_rank() const {
        if (kind_ == grader_kind::lanes) return (unsigned)__popc(mask_ & grader::before());
        if (kind_ == grader_kind::block) return grader::thread();
        return (unsigned long long)grader::block() * grader::threads() + grader::thread();
    }
    GRADER_GROUP bool is_valid() const { return kind_ != grader_kind::grid || grader::arrived(); }
};

class thread_block : public thread_group {
    GRADER_GROUP thread_block() : thread_group(grader_kind::block, 0) { }
    friend GRADER_GROUP thread_block this_thread_block();
public:
    struct arrival_token { };
    GRADER_GROUP static void sync() { __syncthreads(); }
    GRADER_GROUP arrival_token barrier_arrive() const { return {}; }
    GRADER_GROUP void barrier_wait(arrival_token &&) const { __syncthreads(); }
    GRADER_GROUP static unsigned thread_rank() { return grader::thread(); }
    GRADER_GROUP static unsigned num_threads() { return grader::threads(); }
    GRADER_GROUP static unsigned size() { return grader::threads(); }
    GRADER_GROUP static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    GRADER_GROUP static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    GRADER_GROUP static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    GRADER_GROUP static dim3 dim_threads() { return group_dim(); }
};
GRADER_GROUP thread_block this_thread_block() { return thread_block(); }

class grid_group : public thread_group {
    GRADER_GROUP grid_group() : thread_group(grader_kind::grid, 0) { }
    friend GRADER_GROUP grid_group this_grid();
public:
    struct arrival_token { };
    GRADER_GROUP arrival_token barrier_arrive() const { return {}; }
    GRADER_GROUP void barrier_wait(arrival_token &&) const { sync(); }
    GRADER_GROUP static unsigned long long num_blocks() { return grader::blocks(); }
    GRADER_GROUP static unsigned long long block_rank() { return grader::block(); }
    GRADER_GROUP static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    GRADER_GROUP static dim3 dim_blocks() { return group_dim(); }
    GRADER_GROUP static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
GRADER_GROUP grid_group this_grid() { return grid_group(); }

// What lanes of a warp tell each other, for groups that say which of their ranks is in which lane.
template <class Group> class grader_lanes : public thread_group {
    GRADER_GROUP const Group &own() const { return static_cast<const Group &>(*this); }
protected:
    GRADER_GROUP grader_lanes(unsigned mask) : thread_group(grader_kind::lanes, mask) { }
public:
    GRADER_GROUP void sync() const { __syncwarp(mask_); }
    GRADER_GROUP unsigned num_threads() const { return (unsigned)__popc(mask_); }
    GRADER_GROUP unsigned size() const { return own().num_threads(); }
    GRADER_GROUP unsigned thread_rank() const { return (unsigned)__popc(mask_ & grader::before()); }
    GRADER_GROUP unsigned meta_group_rank() const { return meta_rank_; }
    GRADER_GROUP unsigned meta_group_size() const { return meta_size_; }
    template <class T> GRADER_GROUP T shfl(const T &value, unsigned rank) const {
        return grader::from_lane(mask_, value, own().lane(rank % own().num_threads()));
    }
    template <class T> GRADER_GROUP T shfl_down(const T &value, unsigned delta) const {
        unsigned rank = own().thread_rank() + delta;
        return grader::from_lane(mask_, value, rank < own().num_threads() ? own().lane(rank) : grader::lane());
    }
    template <class T> GRADER_GROUP T shfl_up(const T &value, unsigned delta) const {
        unsigned rank = own().thread_rank();
        return grader::from_lane(mask_, value, rank >= delta ? own().lane(rank - delta) : grader::lane());
    }
    GRADER_GROUP int any(int p) const { return __ballot_sync(mask_, p) != 0; }
    GRADER_GROUP int all(int p) const { return __ballot_sync(mask_, p) == mask_; }
    GRADER_GROUP unsigned ballot(int p) const { return grader::packed(__ballot_sync(mask_, p), mask_); }
    template <class T> GRADER_GROUP unsigned match_any(T v) const { return grader::packed(__match_any_sync(mask_, v), mask_); }
    template <class T> GRADER_GROUP unsigned match_all(T v, int &p) const {
        return grader::packed(__match_all_sync(mask_, v, &p), mask_);
    }
    GRADER_GROUP unsigned grader_mask() const { return mask_; }
};

class coalesced_group : public grader_lanes<coalesced_group> {
public:
    GRADER_GROUP explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned size = 1) : grader_lanes(mask) {
        meta_rank_ = rank, meta_size_ = size;
    }
    GRADER_GROUP unsigned lane(unsigned rank) const { return grader::lane_of(mask_, rank); }
};
GRADER_GROUP coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <unsigned N, class Parent = void> class thread_block_tile : public grader_lanes<thread_block_tile<N, Parent>> {
    static_assert(N <= 32, "tiles of several warps are not there for programs that clang compiles");
    typedef grader_lanes<thread_block_tile<N, Parent>> lanes;
public:
    GRADER_GROUP thread_block_tile(unsigned rank, unsigned size)
        : lanes((N == 32 ? ~0u : (1u << N % 32) - 1) << (grader::lane() & ~(N - 1))) {
        this->meta_rank_ = rank, this->meta_size_ = size;
    }
    template <class Other> GRADER_GROUP thread_block_tile(const thread_block_tile<N, Other> &other)
        : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) { }
    GRADER_GROUP static unsigned num_threads() { return N; }
    GRADER_GROUP static unsigned size() { return N; }
    GRADER_GROUP static unsigned thread_rank() { return grader::lane() & (N - 1); }
    GRADER_GROUP unsigned lane(unsigned rank) const { return (grader::lane() & ~(N - 1)) + rank; }
    template <class T> GRADER_GROUP T shfl_xor(const T &value, unsigned bits) const {
        return grader::from_lane(this->mask_, value, grader::lane() ^ bits);
    }
};

template <unsigned N, class Parent> GRADER_GROUP thread_block_tile<N, Parent> tiled_partition(const Parent &parent) {
    return thread_block_tile<N, Parent>(unsigned(parent.thread_rank() / N), unsigned((parent.num_threads() + N - 1) / N));
}
template <unsigned N> GRADER_GROUP coalesced_group tiled_partition(const coalesced_group &parent) {
    unsigned first = parent.thread_rank() / N * N, mask = 0;
    for (unsigned rank = first; rank < first + N && rank < parent.num_threads(); rank++) mask |= 1u << parent.lane(rank);
    return coalesced_group(mask, first / N, (parent.num_threads() + N - 1) / N);
}
GRADER_GROUP thread_group tiled_partition(const thread_group &parent, unsigned size) {
    unsigned mask = (size == 32 ? ~0u : (1u << size) - 1) << (grader::lane() & ~(size - 1));
    if (parent.kind_ == grader_kind::lanes) mask &= parent.mask_;
    return thread_group(grader_kind::lanes, mask);
}
GRADER_GROUP coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
    unsigned first = parent.thread_rank() / size * size, mask = 0;
    for (unsigned rank = first; rank < first + size && rank < parent.num_threads(); rank++) mask |= 1u << parent.lane(rank);
    return coalesced_group(mask, first / size, (parent.num_threads() + size - 1) / size);
}
template <class Group> GRADER_GROUP coalesced_group binary_partition(const Group &group, bool p) {
    unsigned mask = group.grader_mask(), those = __ballot_sync(mask, p);
    return coalesced_group(p ? those : mask & ~those, p ? 0 : 1, 2);
}
template <class Group, class T> GRADER_GROUP coalesced_group labeled_partition(const Group &group, T label) {
    return coalesced_group(__match_any_sync(group.grader_mask(), label));
}

template <class Group> GRADER_GROUP void sync(const Group &group) { group.sync(); }
template <class Group> GRADER_GROUP unsigned long long thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> GRADER_GROUP unsigned long long group_size(const Group &group) { return group.num_threads(); }
template <class Group, class F> GRADER_GROUP void invoke_one(const Group &group, F f) { if (group.thread_rank() == 0) f(); }

// -- reduce.h, scan.h ----------------------------------------------------------------------------
#define GRADER_OPERATION_(name, expression) \
    template <class T = void> struct name { GRADER_GROUP T operator()(T a, T b) const { return expression; } }; \
    template <> struct name<void> { template <class T> GRADER_GROUP T operator()(T a, T b) const { return expression; } };
GRADER_OPERATION_(plus, T(a + b))
GRADER_OPERATION_(less, b < a ? b : a)
GRADER_OPERATION_(greater, a < b ? b : a)
GRADER_OPERATION_(bit_and, T(a & b))
GRADER_OPERATION_(bit_or, T(a | b))
GRADER_OPERATION_(bit_xor, T(a ^ b))
template <unsigned N, class Parent, class T, class F>
GRADER_GROUP typename grader::plain<T>::type reduce(const thread_block_tile<N, Parent> &group, T &&value, F &&op) {
    typename grader::plain<T>::type sum = value;
    for (unsigned bits = N / 2; bits; bits /= 2) sum = op(sum, group.shfl_xor(sum, bits));
    return sum;
}
template <class T, class F> GRADER_GROUP typename grader::plain<T>::type reduce(const coalesced_group &group, T &&value, F &&op) {
    typename grader::plain<T>::type sum = value;
    for (unsigned delta = 1; delta < group.num_threads(); delta *= 2) {
        auto other = group.shfl_down(sum, delta);
        if (group.thread_rank() + delta < group.num_threads()) sum = op(sum, other);
    }
    return group.shfl(sum, 0);
}
template <class Group, class T, class F> GRADER_GROUP typename grader::plain<T>::type inclusive_scan(const Group &group, T &&value, F &&op) {
    typename grader::plain<T>::type sum = value;
    for (unsigned delta = 1; delta < group.num_threads(); delta *= 2) {
        auto other = group.shfl_up(sum, delta);
        if (group.thread_rank() >= delta) sum = op(other, sum);
    }
    return sum;
}
template <class Group, class T> GRADER_GROUP typename grader::plain<T>::type inclusive_scan(const Group &group, T &&value) {
    return inclusive_scan(group, value, plus<typename grader::plain<T>::type>());
}
template <class Group, class T, class F> GRADER_GROUP typename grader::plain<T>::type exclusive_scan(const Group &group, T &&value, F &&op) {
    typename grader::plain<T>::type sum = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() ? sum : typename grader::plain<T>::type();
}
template <class Group, class T> GRADER_GROUP typename grader::plain<T>::type exclusive_scan(const Group &group, T &&value) {
    return exclusive_scan(group, value, plus<typename grader::plain<T>::type>());
}

// -- memcpy_async.h ------------------------------------------------------------------------------
// As on devices that have no copies which go on by themselves: loads and stores, each thread its share.
template <class Group, class T, class U> GRADER_GROUP void memcpy_async(const Group &group, T *to, const U *from, size_t bytes) {
    bool words = ((size_t)to | (size_t)from | bytes) % 4 == 0;
    for (size_t i = group.thread_rank(); i < (words ? bytes / 4 : bytes); i += group.num_threads()) {
        if (words) ((unsigned *)to)[i] = ((const unsigned *)from)[i];
        else ((char *)to)[i] = ((const char *)from)[i];
    }
}
template <class Group> GRADER_GROUP void wait(const Group &group) { group.sync(); }
template <unsigned N, class Group> GRADER_GROUP void wait_prior(const Group &group) { group.sync(); }
}
