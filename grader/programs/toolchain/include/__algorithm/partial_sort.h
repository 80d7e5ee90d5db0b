// In place of libc++'s: the order in which libstdc++ leaves equal elements, and those behind the middle.
#pragma once
#include <__algorithm/comp.h>
#include <__algorithm/make_heap.h>
#include <__algorithm/sort_heap.h>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
// A heap of the smallest.
template <class _Policy, class _Iterator, class _Sentinel, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 _Iterator
__select_heap(_Iterator __first, _Iterator __middle, _Sentinel __last, _Compare &&__comp) {
    std::__make_heap<_Policy>(__first, __middle, __comp);
    _Iterator __at = __middle;
    for (; __at != __last; ++__at)
        if (__comp(*__at, *__first)) std::__exchange_top<_Policy>(__first, __middle - __first, __at, __comp);
    return __at;
}
template <class _Policy, class _Compare, class _Iterator, class _Sentinel>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 _Iterator
__partial_sort(_Iterator __first, _Iterator __middle, _Sentinel __last, _Compare &__comp) {
    _Iterator __end = std::__select_heap<_Policy>(__first, __middle, __last, __comp);
    std::__sort_heap<_Policy>(__first, __middle, __comp);
    return __end;
}
template <class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void
partial_sort(_Iterator __first, _Iterator __middle, _Iterator __last, _Compare __comp) {
    (void)std::__partial_sort<_ClassicAlgPolicy>(std::move(__first), std::move(__middle), std::move(__last), __comp);
}
template <class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void partial_sort(_Iterator __first, _Iterator __middle, _Iterator __last) {
    std::partial_sort(__first, __middle, __last, __less<>());
}
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
