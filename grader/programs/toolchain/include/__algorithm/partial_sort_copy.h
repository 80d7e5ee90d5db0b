// libc++'s, with what takes the top's place put into the heap as libstdc++ does.
#pragma once
#include <__algorithm/make_heap.h>
#include <__algorithm/pop_heap.h>
#include <__algorithm/sift_down.h>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class _Policy, bool, class _Compare, class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX14 void
__fill_top(_Iterator __first, _Compare &&__comp, __iterator_difference_type<_Iterator> __count, __iterator_difference_type<_Iterator>) {
    typename iterator_traits<_Iterator>::value_type __value(_IterOps<_Policy>::__iter_move(__first));
    std::__fill_hole<_Policy>(__first, __iterator_difference_type<_Iterator>(0), __count, std::move(__value), __comp);
}
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
#define __sift_down __fill_top
#include_next <__algorithm/partial_sort_copy.h>
#undef __sift_down
