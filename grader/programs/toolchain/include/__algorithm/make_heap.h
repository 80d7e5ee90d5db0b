// In place of libc++'s, beside `pop_heap`.
#pragma once
#include <__algorithm/comp.h>
#include <__algorithm/pop_heap.h>
#include <__algorithm/sift_down.h>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class _Policy, class _Compare, class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX14 void __make_heap(_Iterator __first, _Iterator __last, _Compare &&__comp) {
    const auto __count = __last - __first;
    for (auto __parent = __count / 2 - 1; __parent >= 0; --__parent) {
        typename iterator_traits<_Iterator>::value_type __value(_IterOps<_Policy>::__iter_move(__first + __parent));
        std::__fill_hole<_Policy>(__first, __parent, __count, std::move(__value), __comp);
    }
}
template <class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void make_heap(_Iterator __first, _Iterator __last, _Compare __comp) {
    std::__make_heap<_ClassicAlgPolicy>(std::move(__first), std::move(__last), __comp);
}
template <class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void make_heap(_Iterator __first, _Iterator __last) {
    std::make_heap(std::move(__first), std::move(__last), __less<>());
}
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
