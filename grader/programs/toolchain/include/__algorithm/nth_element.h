// In place of libc++'s: the order in which libstdc++ leaves the elements on both sides.
#pragma once
#include <__algorithm/sort.h>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class _Policy, class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void
__nth_element_impl(_Iterator __first, _Iterator __nth, _Iterator __last, _Compare &__comp) {
    if (__first == __last || __nth == __last) return;
    for (int __depth = std::__most_depth(__last - __first); __last - __first > 3; --__depth) {
        if (__depth == 0) {
            std::__select_heap<_Policy>(__first, __nth + 1, __last, __comp);
            _IterOps<_Policy>::iter_swap(__first, __nth);
            return;
        }
        _Iterator __cut = std::__split_at_median<_Policy>(__first, __last, __comp);
        (__cut <= __nth ? __first : __last) = __cut;
    }
    std::__insert_all<_Policy>(__first, __last, __comp);
}
template <class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void nth_element(_Iterator __first, _Iterator __nth, _Iterator __last, _Compare __comp) {
    std::__nth_element_impl<_ClassicAlgPolicy>(std::move(__first), std::move(__nth), std::move(__last), __comp);
}
template <class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void nth_element(_Iterator __first, _Iterator __nth, _Iterator __last) {
    std::nth_element(std::move(__first), std::move(__nth), std::move(__last), __less<>());
}
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
