// In place of libc++'s `sort`: libstdc++'s order of equal elements.  Numbers by their own order are left to libc++, whose
// way is faster: of equal ones nobody can tell which is which.
#pragma once
#include <__algorithm/comp.h>
#include <__algorithm/comp_ref_type.h>
#include <__algorithm/iter_swap.h>
#include <__algorithm/iterator_operations.h>
#include <__algorithm/min_element.h>
#include <__algorithm/move_backward.h>
#include <__algorithm/partial_sort.h>
#include <__algorithm/unwrap_iter.h>
#include <__functional/operations.h>
#include <__functional/ranges_operations.h>
#include <__iterator/iterator_traits.h>
#include <__utility/pair.h>
#include <climits>
#include <cstdint>
#define sort __sort_of_libcxx
#define __sort_impl __sort_impl_of_libcxx
#include_next <__algorithm/sort.h>
#undef sort
#undef __sort_impl
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
// Below so many elements insertion is left to the end.
inline constexpr int __few_elements = 16;
template <class _Policy, class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void __insert_from(_Iterator __at, _Compare &__comp) {
    typename iterator_traits<_Iterator>::value_type __value(_IterOps<_Policy>::__iter_move(__at));
    _Iterator __before = __at - 1;
    for (; __comp(__value, *__before); --__before) {
        *__at = _IterOps<_Policy>::__iter_move(__before);
        __at = __before;
    }
    *__at = std::move(__value);
}
template <class _Policy, class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void __insert_all(_Iterator __first, _Iterator __last, _Compare &__comp) {
    if (__first == __last) return;
    for (_Iterator __at = __first + 1; __at != __last; ++__at) {
        if (!__comp(*__at, *__first)) {
            std::__insert_from<_Policy>(__at, __comp);
            continue;
        }
        typename iterator_traits<_Iterator>::value_type __value(_IterOps<_Policy>::__iter_move(__at));
        for (_Iterator __to = __at; __to != __first; --__to) *__to = _IterOps<_Policy>::__iter_move(__to - 1);
        *__first = std::move(__value);
    }
}
// What is less than the median of three comes first; where the rest begins.
template <class _Policy, class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 _Iterator __split_at_median(_Iterator __first, _Iterator __last, _Compare &__comp) {
    const _Iterator __a = __first + 1, __b = __first + (__last - __first) / 2, __c = __last - 1;
    _Iterator __median = __comp(*__a, *__b) ? (__comp(*__b, *__c) ? __b : __comp(*__a, *__c) ? __c : __a)
                                            : (__comp(*__a, *__c) ? __a : __comp(*__b, *__c) ? __c : __b);
    _IterOps<_Policy>::iter_swap(__first, __median);
    _Iterator __low = __first + 1, __high = __last;
    for (;; ++__low) {
        while (__comp(*__low, *__first)) ++__low;
        do --__high;
        while (__comp(*__first, *__high));
        if (!(__low < __high)) return __low;
        _IterOps<_Policy>::iter_swap(__low, __high);
    }
}
template <class _Policy, class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void __sort_roughly(_Iterator __first, _Iterator __last, int __depth, _Compare &__comp) {
    while (__last - __first > __few_elements) {
        if (__depth-- == 0) {
            std::__partial_sort<_Policy>(__first, __last, __last, __comp);
            return;
        }
        _Iterator __cut = std::__split_at_median<_Policy>(__first, __last, __comp);
        std::__sort_roughly<_Policy>(__cut, __last, __depth, __comp);
        __last = __cut;
    }
}
template <class _Size> _LIBCPP_HIDE_FROM_ABI constexpr int __most_depth(_Size __count) {
    int __depth = 0;
    for (; __count > 1; __count /= 2) __depth += 2;
    return __depth;
}
template <class _Policy, class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void __sort_impl(_Iterator __first, _Iterator __last, _Compare &__comp) {
    if constexpr (__use_branchless_sort<_Compare, _Iterator>) {
        std::__sort_impl_of_libcxx<_Policy>(__first, __last, __comp);
    } else if (__first != __last) {
        std::__sort_roughly<_Policy>(__first, __last, std::__most_depth(__last - __first), __comp);
        const _Iterator __end = __last - __first > __few_elements ? __first + __few_elements : __last;
        std::__insert_all<_Policy>(__first, __end, __comp);
        for (_Iterator __at = __end; __at != __last; ++__at) std::__insert_from<_Policy>(__at, __comp);
    }
}
template <class _Iterator, class _Compare>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void sort(_Iterator __first, _Iterator __last, _Compare __comp) {
    std::__sort_impl<_ClassicAlgPolicy>(std::move(__first), std::move(__last), __comp);
}
template <class _Iterator>
_LIBCPP_HIDE_FROM_ABI _LIBCPP_CONSTEXPR_SINCE_CXX20 void sort(_Iterator __first, _Iterator __last) {
    std::sort(__first, __last, __less<>());
}
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
