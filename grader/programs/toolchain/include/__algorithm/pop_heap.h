// In place of libc++'s: heaps whose equal elements come in libstdc++'s order.  The hole goes down to a leaf by the larger
// child, of equal ones the right, and what fills it comes up from there.
#pragma once
#include <__algorithm/comp.h>
#include <__algorithm/iterator_operations.h>
#include <__algorithm/push_heap.h>
#include <__config>
#include <__iterator/iterator_traits.h>
#include <__utility/move.h>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class _Policy, class _Iterator, class _Value, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX14 void
__fill_hole(_Iterator __first, __iterator_difference_type<_Iterator> __hole, __iterator_difference_type<_Iterator> __count, _Value __value, _Compare &&__comp) {
    const auto __top = __hole;
    auto __child = 2 * __hole + 2;
    for (; __child < __count; __child = 2 * __hole + 2) {
        if (__comp(__first[__child], __first[__child - 1])) --__child;
        __first[__hole] = _IterOps<_Policy>::__iter_move(__first + __child);
        __hole = __child;
    }
    if (__child == __count) {
        __first[__hole] = _IterOps<_Policy>::__iter_move(__first + (__child - 1));
        __hole = __child - 1;
    }
    for (auto __parent = (__hole - 1) / 2; __hole > __top && __comp(__first[__parent], __value); __parent = (__hole - 1) / 2) {
        __first[__hole] = _IterOps<_Policy>::__iter_move(__first + __parent);
        __hole = __parent;
    }
    __first[__hole] = std::move(__value);
}
// The largest of a heap of `__count` goes to `__to`, whose element takes its place in the heap.
template <class _Policy, class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX14 void
__exchange_top(_Iterator __first, __iterator_difference_type<_Iterator> __count, _Iterator __to, _Compare &&__comp) {
    typename iterator_traits<_Iterator>::value_type __value(_IterOps<_Policy>::__iter_move(__to));
    *__to = _IterOps<_Policy>::__iter_move(__first);
    std::__fill_hole<_Policy>(__first, __iterator_difference_type<_Iterator>(0), __count, std::move(__value), __comp);
}
template <class _Policy, class _Compare, class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX14 void
__pop_heap(_Iterator __first, _Iterator __last, _Compare &__comp, typename iterator_traits<_Iterator>::difference_type __count) {
    if (__count > 1) std::__exchange_top<_Policy>(__first, __count - 1, __last - 1, __comp);
}
template <class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void pop_heap(_Iterator __first, _Iterator __last, _Compare __comp) {
    std::__pop_heap<_ClassicAlgPolicy>(__first, __last, __comp, __last - __first);
}
template <class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void pop_heap(_Iterator __first, _Iterator __last) {
    std::pop_heap(std::move(__first), std::move(__last), __less<>());
}
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
