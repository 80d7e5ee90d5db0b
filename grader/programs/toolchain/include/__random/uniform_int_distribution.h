// libc++'s helpers, and in place of its distribution libstdc++'s: by multiplication where an engine fills its words,
// by division elsewhere.
#pragma once
#define uniform_int_distribution __libcpp_uniform_int_distribution
#include_next <__random/uniform_int_distribution.h>
#undef uniform_int_distribution
#include <type_traits>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class _Int = int>
class uniform_int_distribution {
public:
    typedef _Int result_type;
    class param_type {
        _Int __a_, __b_;

    public:
        typedef uniform_int_distribution distribution_type;
        explicit param_type(_Int __a = 0, _Int __b = numeric_limits<_Int>::max()) : __a_(__a), __b_(__b) {}
        _Int a() const { return __a_; }
        _Int b() const { return __b_; }
        friend bool operator==(const param_type &__x, const param_type &__y) { return __x.__a_ == __y.__a_ && __x.__b_ == __y.__b_; }
        friend bool operator!=(const param_type &__x, const param_type &__y) { return !(__x == __y); }
    };

private:
    param_type __p_;
    // The high word of a product; low ones that some numbers would have more of than others are drawn again.
    template <class _Wide, class _Word, class _Engine>
    static _Word __scaled(_Engine &__g, _Word __range) {
        _Wide __product = _Wide(__g() - _Engine::min()) * _Wide(__range);
        if (_Word(__product) < __range) {
            const _Word __threshold = _Word(-__range) % __range;
            while (_Word(__product) < __threshold) __product = _Wide(__g() - _Engine::min()) * _Wide(__range);
        }
        return _Word(__product >> numeric_limits<_Word>::digits);
    }

public:
    uniform_int_distribution() : uniform_int_distribution(0) {}
    explicit uniform_int_distribution(_Int __a, _Int __b = numeric_limits<_Int>::max()) : __p_(__a, __b) {}
    explicit uniform_int_distribution(const param_type &__p) : __p_(__p) {}
    void reset() {}
    template <class _Engine>
    _Int operator()(_Engine &__g) { return (*this)(__g, __p_); }
    template <class _Engine>
    _Int operator()(_Engine &__g, const param_type &__p) {
        typedef typename remove_reference<_Engine>::type _E;
        typedef typename common_type<typename _E::result_type, typename make_unsigned<_Int>::type>::type _Word;
        constexpr _Word __most = _Word(_E::max()) - _Word(_E::min());
        const _Word __range = _Word(__p.b()) - _Word(__p.a());
        _Word __drawn;
        if (__most > __range) {
            const _Word __count = __range + 1;
            if constexpr (__most == 0xffffffffffffffffULL) {
                __drawn = __scaled<unsigned __int128, unsigned long long, _E>(__g, __count);
            } else if constexpr (__most == 0xffffffffULL) {
                __drawn = __scaled<unsigned long long, unsigned, _E>(__g, __count);
            } else {
                const _Word __scale = __most / __count, __past = __count * __scale;
                do __drawn = _Word(__g()) - _Word(_E::min());
                while (__drawn >= __past);
                __drawn /= __scale;
            }
        } else if (__most < __range) {
            _Word __high;
            do {
                constexpr _Word __count = __most + 1;
                __high = __count * _Word((*this)(__g, param_type(0, _Int(__range / __count))));
                __drawn = __high + (_Word(__g()) - _Word(_E::min()));
            } while (__drawn > __range || __drawn < __high);
        } else {
            __drawn = _Word(__g()) - _Word(_E::min());
        }
        return _Int(__drawn + _Word(__p.a()));
    }
    _Int a() const { return __p_.a(); }
    _Int b() const { return __p_.b(); }
    param_type param() const { return __p_; }
    void param(const param_type &__p) { __p_ = __p; }
    _Int min() const { return a(); }
    _Int max() const { return b(); }
    friend bool operator==(const uniform_int_distribution &__x, const uniform_int_distribution &__y) { return __x.__p_ == __y.__p_; }
    friend bool operator!=(const uniform_int_distribution &__x, const uniform_int_distribution &__y) { return !(__x == __y); }
    template <class _Char, class _Traits>
    friend basic_ostream<_Char, _Traits> &operator<<(basic_ostream<_Char, _Traits> &__out, const uniform_int_distribution &__d) { return __out << __d.a() << _Char(' ') << __d.b(); }
    template <class _Char, class _Traits>
    friend basic_istream<_Char, _Traits> &operator>>(basic_istream<_Char, _Traits> &__in, uniform_int_distribution &__d) {
        _Int __a, __b;
        __in >> __a >> __b;
        __d.__p_ = param_type(__a, __b);
        return __in;
    }
};
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
