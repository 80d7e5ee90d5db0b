// In place of libc++'s: libstdc++'s shuffle, which draws two places at once where an engine has bits enough, and
// random_shuffle, which nvcc's programs still have in C++17.
#pragma once
#include <__algorithm/iterator_operations.h>
#include <__config>
#include <__cstddef/ptrdiff_t.h>
#include <__iterator/iterator_traits.h>
#include <__random/uniform_int_distribution.h>
#include <__utility/forward.h>
#include <__utility/move.h>
#include <__utility/swap.h>
#include <cstdint>
#include <cstdlib>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class _Policy, class _Iterator, class _Sentinel, class _Engine>
_Iterator __shuffle(_Iterator __first, _Sentinel __sentinel, _Engine &&__g) {
    typedef typename remove_reference<_Engine>::type _E;
    typedef typename make_unsigned<typename iterator_traits<_Iterator>::difference_type>::type _Size;
    typedef typename common_type<typename _E::result_type, _Size>::type _Word;
    const _Iterator __last = _IterOps<_Policy>::next(__first, __sentinel);
    if (__first == __last) return __last;
    const _Word __count = _Word(__last - __first);
    _Iterator __at = __first + 1;
    if (_Word(_E::max() - _E::min()) / __count >= __count) {
        if (__count % 2 == 0) _IterOps<_Policy>::iter_swap(__at++, __first + uniform_int_distribution<_Size>(0, 1)(__g));
        while (__at != __last) {
            const _Word __places = _Word(__at - __first) + 1;
            const _Word __both = uniform_int_distribution<_Word>(0, __places * (__places + 1) - 1)(__g);
            _IterOps<_Policy>::iter_swap(__at++, __first + __both / (__places + 1));
            _IterOps<_Policy>::iter_swap(__at++, __first + __both % (__places + 1));
        }
        return __last;
    }
    for (; __at != __last; ++__at) _IterOps<_Policy>::iter_swap(__at, __first + uniform_int_distribution<_Size>(0, _Size(__at - __first))(__g));
    return __last;
}
template <class _Iterator, class _Engine>
void shuffle(_Iterator __first, _Iterator __last, _Engine &&__g) {
    (void)std::__shuffle<_ClassicAlgPolicy>(std::move(__first), std::move(__last), std::forward<_Engine>(__g));
}
template <class _Iterator, class _Draw>
void random_shuffle(_Iterator __first, _Iterator __last, _Draw &&__draw) {
    if (__first == __last) return;
    for (_Iterator __at = __first + 1; __at != __last; ++__at) {
        const _Iterator __other = __first + __draw(__at - __first + 1);
        if (__at != __other) swap(*__at, *__other);
    }
}
template <class _Iterator>
void random_shuffle(_Iterator __first, _Iterator __last) {
    std::random_shuffle(__first, __last, [](ptrdiff_t __n) { return ptrdiff_t(::rand() % __n); });
}
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
