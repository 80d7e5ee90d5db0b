// In place of libc++'s: the polar method in libstdc++'s order, which gives the second of a pair first.
#pragma once
#include <__config>
#include <__random/generate_canonical.h>
#include <__random/is_valid.h>
#include <cmath>
#include <iosfwd>
#include <limits>
_LIBCPP_PUSH_MACROS
#include <__undef_macros>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class _Real = double>
class normal_distribution {
public:
    typedef _Real result_type;
    class param_type {
        _Real __mean_, __stddev_;

    public:
        typedef normal_distribution distribution_type;
        explicit param_type(_Real __mean = 0, _Real __stddev = 1) : __mean_(__mean), __stddev_(__stddev) {}
        _Real mean() const { return __mean_; }
        _Real stddev() const { return __stddev_; }
        friend bool operator==(const param_type &__a, const param_type &__b) { return __a.__mean_ == __b.__mean_ && __a.__stddev_ == __b.__stddev_; }
        friend bool operator!=(const param_type &__a, const param_type &__b) { return !(__a == __b); }
    };

private:
    param_type __p_;
    _Real __saved_ = 0;
    bool __has_saved_ = false;

public:
    normal_distribution() : normal_distribution(0) {}
    explicit normal_distribution(_Real __mean, _Real __stddev = 1) : __p_(__mean, __stddev) {}
    explicit normal_distribution(const param_type &__p) : __p_(__p) {}
    void reset() { __has_saved_ = false; }
    template <class _Engine>
    _Real operator()(_Engine &__g) { return (*this)(__g, __p_); }
    template <class _Engine>
    _Real operator()(_Engine &__g, const param_type &__p) {
        _Real __drawn = __saved_;
        __has_saved_ = !__has_saved_;
        if (__has_saved_) {
            _Real __x, __y, __square;
            do {
                __x = _Real(2) * std::generate_canonical<_Real, numeric_limits<_Real>::digits>(__g) - 1;
                __y = _Real(2) * std::generate_canonical<_Real, numeric_limits<_Real>::digits>(__g) - 1;
                __square = __x * __x + __y * __y;
            } while (__square > 1 || __square == 0);
            const _Real __scale = std::sqrt(-2 * std::log(__square) / __square);
            __saved_ = __x * __scale;
            __drawn = __y * __scale;
        }
        return __drawn * __p.stddev() + __p.mean();
    }
    _Real mean() const { return __p_.mean(); }
    _Real stddev() const { return __p_.stddev(); }
    param_type param() const { return __p_; }
    void param(const param_type &__p) { __p_ = __p; }
    result_type min() const { return -numeric_limits<_Real>::infinity(); }
    result_type max() const { return numeric_limits<_Real>::infinity(); }
    friend bool operator==(const normal_distribution &__a, const normal_distribution &__b) {
        return __a.__p_ == __b.__p_ && __a.__has_saved_ == __b.__has_saved_ && (!__a.__has_saved_ || __a.__saved_ == __b.__saved_);
    }
    friend bool operator!=(const normal_distribution &__a, const normal_distribution &__b) { return !(__a == __b); }
    template <class _Char, class _Traits>
    friend basic_ostream<_Char, _Traits> &operator<<(basic_ostream<_Char, _Traits> &__out, const normal_distribution &__d) {
        return __out << __d.mean() << _Char(' ') << __d.stddev() << _Char(' ') << __d.__has_saved_ << _Char(' ') << __d.__saved_;
    }
    template <class _Char, class _Traits>
    friend basic_istream<_Char, _Traits> &operator>>(basic_istream<_Char, _Traits> &__in, normal_distribution &__d) {
        _Real __mean, __stddev;
        __in >> __mean >> __stddev >> __d.__has_saved_ >> __d.__saved_;
        __d.__p_ = param_type(__mean, __stddev);
        return __in;
    }
};
_LIBCPP_END_NAMESPACE_STD
_LIBCPP_POP_MACROS
