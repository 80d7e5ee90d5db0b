// CUB's radix sort, which is Thrust's of numbers by less or greater: many keys are sorted without kernels.
#pragma once
#include_next <cub/device/dispatch/dispatch_radix_sort.cuh>
extern "C" GRADER_IMPORT("graderRadixSort") int grader_radix_sort(
    const void *keys, void *sorted, const void *values, void *moved, size_t count, int kind, int key_bytes,
    int value_bytes, int begin_bit, int end_bit, int is_descending, size_t stream, int line, const char *file);
CUB_NAMESPACE_BEGIN
template <typename KeyT, typename ValueT, typename OffsetT>
struct GraderSortedByKernels : DeviceRadixSortPolicy<KeyT, ValueT, OffsetT> {};
template <bool IS_DESCENDING, typename KeyT, typename ValueT, typename OffsetT>
struct DispatchRadixSort<IS_DESCENDING, KeyT, ValueT, OffsetT, DeviceRadixSortPolicy<KeyT, ValueT, OffsetT>, detail::identity_decomposer_t>
{
    using Kernels = DispatchRadixSort<IS_DESCENDING, KeyT, ValueT, OffsetT, GraderSortedByKernels<KeyT, ValueT, OffsetT>, detail::identity_decomposer_t>;
    static constexpr bool keys_only = ::cuda::std::is_same<ValueT, NullType>::value;
    static constexpr bool is_served = ::cuda::std::is_arithmetic<KeyT>::value && ::cuda::std::is_trivially_copyable<ValueT>::value;
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(
        void *d_temp_storage, size_t &temp_storage_bytes, DoubleBuffer<KeyT> &d_keys, DoubleBuffer<ValueT> &d_values,
        OffsetT num_items, int begin_bit, int end_bit, bool is_overwrite_okay, cudaStream_t stream,
        detail::identity_decomposer_t decomposer = {})
    {
#ifndef __CUDA_ARCH__
        if constexpr (is_served) {
            const bool alternates = !is_overwrite_okay || ((end_bit - begin_bit + 7) / 8 & 1);
            const int to = d_keys.selector ^ (alternates ? 1 : 0), values_to = d_values.selector ^ (alternates ? 1 : 0);
            const int kind = ::cuda::std::is_floating_point<KeyT>::value ? 2 : ::cuda::std::is_signed<KeyT>::value ? 1 : 0;
            if (d_temp_storage != nullptr
                && grader_radix_sort(
                       d_keys.Current(), d_keys.d_buffers[to], d_values.Current(), d_values.d_buffers[values_to],
                       (size_t)num_items, kind, (int)sizeof(KeyT), keys_only ? 0 : (int)sizeof(ValueT), begin_bit, end_bit,
                       IS_DESCENDING, (size_t)stream, 0, "cub/") == 0) {
                d_keys.selector = to;
                d_values.selector = values_to;
                return cudaSuccess;
            }
        }
#endif
        return Kernels::Dispatch(
            d_temp_storage, temp_storage_bytes, d_keys, d_values, num_items, begin_bit, end_bit, is_overwrite_okay, stream,
            decomposer);
    }
};
CUB_NAMESPACE_END
