  ;; What generated code calls.  {NAME} is an offset of the context (see layout.py).
  ;; Whatever the other engine has to look into ends in `unreachable`: the launch is then run by it from the start.

  (global $frames (mut i32) (i32.const 0))
  (global $lanes (mut i32) (i32.const 0))
  (global $races (mut i32) (i32.const 0))
  (global $space (mut i32) (i32.const 0))
  (global $shared_address (mut i64) (i64.const 0))
  (global $version (mut i64) (i64.const 0))

  ;; ---- arithmetic: to the bit what isa/ computes ------------------------------------

  (func $c32 (param $r f32) (result f32)
    (select (local.get $r) (f32.const nan:0x7fffff) (f32.eq (local.get $r) (local.get $r))))

  ;; isa/rounding.py, fma_f64: which NaN comes out is not WebAssembly's to say.
  (func $fma64 (param $a f64) (param $b f64) (param $c f64) (result f64)
    (f64.reinterpret_i64 (call $fma64_at_length (i64.reinterpret_f64 (local.get $a))
        (i64.reinterpret_f64 (local.get $b)) (i64.reinterpret_f64 (local.get $c)))))

  ;; isa/rounding.py, propagate_nan: the last operand that is NaN, made quiet, else the default.
  (func $nan64 (param $r f64) (param $a f64) (param $b f64) (result f64)
    (if (f64.eq (local.get $r) (local.get $r)) (then (return (local.get $r))))
    (if (f64.ne (local.get $b) (local.get $b)) (then (return (f64.reinterpret_i64
        (i64.or (i64.reinterpret_f64 (local.get $b)) (i64.const 0x0008000000000000))))))
    (if (f64.ne (local.get $a) (local.get $a)) (then (return (f64.reinterpret_i64
        (i64.or (i64.reinterpret_f64 (local.get $a)) (i64.const 0x0008000000000000))))))
    (f64.reinterpret_i64 (i64.const 0xFFF8000000000000)))

  (func $add64 (param $a f64) (param $b f64) (result f64)
    (call $nan64 (f64.add (local.get $a) (local.get $b)) (local.get $a) (local.get $b)))
  (func $sub64 (param $a f64) (param $b f64) (result f64)
    (call $nan64 (f64.sub (local.get $a) (local.get $b)) (local.get $a) (local.get $b)))
  (func $mul64 (param $a f64) (param $b f64) (result f64)
    (call $nan64 (f64.mul (local.get $a) (local.get $b)) (local.get $a) (local.get $b)))
  ;; Of two NaN operands a division passes on the first.
  (func $div64 (param $a f64) (param $b f64) (result f64)
    (call $nan64 (f64.div (local.get $a) (local.get $b)) (local.get $b) (local.get $a)))
  (func $sqrt64 (param $a f64) (result f64)
    (call $nan64 (f64.sqrt (local.get $a)) (local.get $a) (local.get $a)))

  ;; isa/convert.py: conversions to and from f64 keep a NaN's sign and upper payload, and make it quiet.
  (func $widened (param $a f32) (result f64)
    (local $bits i64)
    (if (f32.eq (local.get $a) (local.get $a)) (then (return (f64.promote_f32 (local.get $a)))))
    (local.set $bits (i64.extend_i32_u (i32.reinterpret_f32 (local.get $a))))
    (f64.reinterpret_i64 (i64.or
      (i64.or (i64.shl (i64.shr_u (local.get $bits) (i64.const 31)) (i64.const 63)) (i64.const 0x7FF8000000000000))
      (i64.shl (i64.and (local.get $bits) (i64.const 0x7FFFFF)) (i64.const 29)))))
  (func $narrowed (param $a f64) (result f32)
    (local $bits i64)
    (if (f64.eq (local.get $a) (local.get $a)) (then (return (f32.demote_f64 (local.get $a)))))
    (local.set $bits (i64.reinterpret_f64 (local.get $a)))
    (f32.reinterpret_i32 (i32.wrap_i64 (i64.or
      (i64.or (i64.shl (i64.shr_u (local.get $bits) (i64.const 63)) (i64.const 31)) (i64.const 0x7FC00000))
      (i64.and (i64.shr_u (local.get $bits) (i64.const 29)) (i64.const 0x3FFFFF))))))

  ;; isa/floating.py, approximate: the float64 function, rounded once.  What is computed here is certain where it rounds
  ;; as it would if it were a little smaller and a little larger; else the host computes it.
  (func $certain (param $r f64) (param $error f64) (param $number i32) (param $a f32) (result f32)
    (local $low f32)
    (local.set $low (f32.demote_f64 (f64.sub (local.get $r) (f64.mul (local.get $r) (local.get $error)))))
    (if (f32.eq (local.get $low) (f32.demote_f64 (f64.add (local.get $r) (f64.mul (local.get $r) (local.get $error)))))
      (then (return (local.get $low))))
    (f32.reinterpret_i32 (call $function_at_length (local.get $number) (i32.reinterpret_f32 (local.get $a)))))

  (func $ex2 (param $a f32) (result f32)
    (local $n f64) (local $r f64)
    (if (f32.ne (local.get $a) (local.get $a)) (then (return (f32.const nan:0x7fffff))))
    (local.set $r (f64.max (f64.const -1000) (f64.min (f64.const 1000) (f64.promote_f32 (local.get $a)))))
    (local.set $n (f64.nearest (local.get $r)))
    (local.set $r (f64.sub (local.get $r) (local.get $n)))
    (local.set $r
      (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add
      (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul
      (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.const 0x1.314964d5878a9p-44) (local.get $r))
      (f64.const 0x1.816193166d0f9p-40)) (local.get $r)) (f64.const 0x1.c3bd650fc2986p-36)) (local.get $r))
      (f64.const 0x1.e8cac7351bb25p-32)) (local.get $r)) (f64.const 0x1.e4cf5158b8ecap-28)) (local.get $r))
      (f64.const 0x1.b5253d395e7c4p-24)) (local.get $r)) (f64.const 0x1.62c0223a5c824p-20)) (local.get $r))
      (f64.const 0x1.ffcbfc588b0c7p-17)) (local.get $r)) (f64.const 0x1.430912f86c787p-13)) (local.get $r))
      (f64.const 0x1.5d87fe78a6731p-10)) (local.get $r)) (f64.const 0x1.3b2ab6fba4e77p-7)) (local.get $r))
      (f64.const 0x1.c6b08d704a0c0p-5)) (local.get $r)) (f64.const 0x1.ebfbdff82c58fp-3)) (local.get $r))
      (f64.const 0x1.62e42fefa39efp-1)) (local.get $r)) (f64.const 0x1.0000000000000p+0)))
    (call $certain
      (f64.mul (local.get $r) (f64.reinterpret_i64
        (i64.shl (i64.add (i64.trunc_sat_f64_s (local.get $n)) (i64.const 1023)) (i64.const 52))))
      (f64.const 0x1p-47) (i32.const 0) (local.get $a)))

  (func $lg2 (param $a f32) (result f32)
    (local $bits i64) (local $n i64) (local $s f64) (local $q f64)
    (if (i32.eqz (f32.lt (f32.const 0) (local.get $a)))
      (then (return (select (f32.const -inf) (f32.const nan:0x7fffff) (f32.eq (local.get $a) (f32.const 0))))))
    (if (f32.eq (local.get $a) (f32.const inf)) (then (return (local.get $a))))
    (local.set $bits (i64.reinterpret_f64 (f64.promote_f32 (local.get $a))))
    ;; A power of two, and what lies between the roots of 1/2 and of 2.
    (local.set $n (i64.shr_s (i64.sub (local.get $bits) (i64.const 0x3FE6A09E667F3BCD)) (i64.const 52)))
    (local.set $s (f64.reinterpret_i64 (i64.sub (local.get $bits) (i64.shl (local.get $n) (i64.const 52)))))
    (local.set $s (f64.div (f64.sub (local.get $s) (f64.const 1)) (f64.add (local.get $s) (f64.const 1))))
    (local.set $q (f64.mul (local.get $s) (local.get $s)))
    (local.set $q (f64.mul (local.get $s)
      (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add
      (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul
      (f64.const 0x1.00ecd7e080215p-3) (local.get $q)) (f64.const 0x1.1964ec6fc9491p-3)) (local.get $q))
      (f64.const 0x1.3703c1f4d0ffep-3)) (local.get $q)) (f64.const 0x1.5b9ac9b743f0dp-3)) (local.get $q))
      (f64.const 0x1.89f3b1694cffep-3)) (local.get $q)) (f64.const 0x1.c68f568d31760p-3)) (local.get $q))
      (f64.const 0x1.0c9a84994022dp-2)) (local.get $q)) (f64.const 0x1.484b13d7c02a9p-2)) (local.get $q))
      (f64.const 0x1.a61762a7aded9p-2)) (local.get $q)) (f64.const 0x1.2776c50ef9bfep-1)) (local.get $q))
      (f64.const 0x1.ec709dc3a03fdp-1)) (local.get $q)) (f64.const 0x1.71547652b82fep+1))))
    (call $certain (f64.add (f64.convert_i64_s (local.get $n)) (local.get $q))
      (f64.const 0x1p-46) (i32.const 1) (local.get $a)))

  ;; $number: 2 for a sine, 3 for a cosine.
  (func $circular (param $a f32) (param $number i32) (result f32)
    (local $n f64) (local $r f64) (local $q f64) (local $quadrant i32)
    (if (f32.eq (f32.sub (local.get $a) (local.get $a)) (f32.const 0))
      (then (if (f32.lt (f32.abs (local.get $a)) (f32.const 0x1p20))
        (then
          (if (f32.eq (local.get $a) (f32.const 0))
            (then (return (select (local.get $a) (f32.const 1) (i32.eq (local.get $number) (i32.const 2))))))
          (local.set $r (f64.promote_f32 (local.get $a)))
          (local.set $n (f64.nearest (f64.mul (local.get $r) (f64.const 0x1.45f306dc9c883p-1))))
          (local.set $r (f64.sub (local.get $r) (f64.mul (local.get $n) (f64.const 0x1.921fb54400000p+0))))
          (local.set $r (f64.sub (local.get $r) (f64.mul (local.get $n) (f64.const 0x1.0b4611a600000p-34))))
          (local.set $r (f64.sub (local.get $r) (f64.mul (local.get $n) (f64.const 0x1.3198a2e037073p-69))))
          (local.set $q (f64.mul (local.get $r) (local.get $r)))
          (local.set $quadrant (i32.add (i32.trunc_sat_f64_s (local.get $n)) (local.get $number)))
          (if (i32.and (local.get $quadrant) (i32.const 1))
            (then (local.set $r
      (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add
      (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.const -0x1.6827863b97d97p-53)
      (local.get $q)) (f64.const 0x1.ae7f3e733b81fp-45)) (local.get $q)) (f64.const -0x1.93974a8c07c9dp-37))
      (local.get $q)) (f64.const 0x1.1eed8eff8d898p-29)) (local.get $q)) (f64.const -0x1.27e4fb7789f5cp-22))
      (local.get $q)) (f64.const 0x1.a01a01a01a01ap-16)) (local.get $q)) (f64.const -0x1.6c16c16c16c17p-10))
      (local.get $q)) (f64.const 0x1.5555555555555p-5)) (local.get $q)) (f64.const -0x1.0000000000000p-1))
      (local.get $q)) (f64.const 0x1.0000000000000p+0))))
            (else (local.set $r (f64.mul (local.get $r)
      (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add
      (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.add (f64.mul (f64.const -0x1.2f49b46814157p-57)
      (local.get $q)) (f64.const 0x1.952c77030ad4ap-49)) (local.get $q)) (f64.const -0x1.ae7f3e733b81fp-41))
      (local.get $q)) (f64.const 0x1.6124613a86d09p-33)) (local.get $q)) (f64.const -0x1.ae64567f544e4p-26))
      (local.get $q)) (f64.const 0x1.71de3a556c734p-19)) (local.get $q)) (f64.const -0x1.a01a01a01a01ap-13))
      (local.get $q)) (f64.const 0x1.1111111111111p-7)) (local.get $q)) (f64.const -0x1.5555555555555p-3))
      (local.get $q)) (f64.const 0x1.0000000000000p+0))))))
          ;; Of sine, cosine, -sine, -cosine, from 2 on.
          (if (i32.and (i32.sub (local.get $quadrant) (i32.const 2)) (i32.const 2))
            (then (local.set $r (f64.neg (local.get $r)))))
          (return (call $certain (local.get $r)
            (f64.add (f64.const 0x1p-46) (f64.div (f64.const 0x1p-60) (f64.abs (local.get $r)))) (local.get $number) (local.get $a)))))))
    (f32.reinterpret_i32 (call $function_at_length (local.get $number) (i32.reinterpret_f32 (local.get $a)))))

  ;; Subnormal numbers as zeros.
  (func $flushed (param $a f32) (result f32)
    (select (f32.copysign (f32.const 0) (local.get $a)) (local.get $a)
      (f32.lt (f32.abs (local.get $a)) (f32.const 0x1p-126))))

  ;; isa/rounding.py, a product and sum rounded downwards.
  (func $fma32_down (param $a f32) (param $b f32) (param $c f32) (result f32)
    (local $x f64) (local $y f64) (local $t f64) (local $part f64) (local $error f64) (local $r f32) (local $bits i32)
    (local.set $x (f64.mul (f64.promote_f32 (local.get $a)) (f64.promote_f32 (local.get $b))))
    (local.set $y (f64.promote_f32 (local.get $c)))
    (local.set $t (f64.add (local.get $x) (local.get $y)))
    (local.set $r (f32.demote_f64 (local.get $t)))
    (if (f32.ne (local.get $r) (local.get $r)) (then (return (f32.const nan:0x7fffff))))
    (if (f64.eq (local.get $t) (f64.const 0))
      (then (return (select (f32.const -0) (f32.const 0) (i64.lt_s
        (i64.or (i64.reinterpret_f64 (local.get $x)) (i64.reinterpret_f64 (local.get $y))) (i64.const 0))))))
    (local.set $part (f64.sub (local.get $t) (local.get $x)))
    (local.set $error (f64.add (f64.sub (local.get $x) (f64.sub (local.get $t) (local.get $part)))
                               (f64.sub (local.get $y) (local.get $part))))
    (if (i32.or (f64.gt (f64.promote_f32 (local.get $r)) (local.get $t))
                (i32.and (f64.eq (f64.promote_f32 (local.get $r)) (local.get $t)) (f64.lt (local.get $error) (f64.const 0))))
      (then
        (local.set $bits (i32.reinterpret_f32 (local.get $r)))
        (if (f32.eq (local.get $r) (f32.const 0)) (then (return (f32.reinterpret_i32 (i32.const 0x80000001)))))
        (return (f32.reinterpret_i32 (i32.add (local.get $bits)
          (select (i32.const -1) (i32.const 1) (f32.gt (local.get $r) (f32.const 0))))))))
    (local.get $r))

  (func $high_u64 (param $a i64) (param $b i64) (result i64)
    (local $al i64) (local $ah i64) (local $bl i64) (local $bh i64) (local $mid i64) (local $low i64)
    (local.set $al (i64.and (local.get $a) (i64.const 0xFFFFFFFF)))
    (local.set $ah (i64.shr_u (local.get $a) (i64.const 32)))
    (local.set $bl (i64.and (local.get $b) (i64.const 0xFFFFFFFF)))
    (local.set $bh (i64.shr_u (local.get $b) (i64.const 32)))
    (local.set $low (i64.mul (local.get $al) (local.get $bl)))
    (local.set $mid (i64.add (i64.mul (local.get $ah) (local.get $bl)) (i64.shr_u (local.get $low) (i64.const 32))))
    (local.set $low (i64.add (i64.mul (local.get $al) (local.get $bh)) (i64.and (local.get $mid) (i64.const 0xFFFFFFFF))))
    (i64.add (i64.mul (local.get $ah) (local.get $bh))
      (i64.add (i64.shr_u (local.get $mid) (i64.const 32)) (i64.shr_u (local.get $low) (i64.const 32)))))
  (func $high_s64 (param $a i64) (param $b i64) (result i64)
    (i64.sub (call $high_u64 (local.get $a) (local.get $b))
      (i64.add (i64.and (i64.shr_s (local.get $a) (i64.const 63)) (local.get $b))
               (i64.and (i64.shr_s (local.get $b) (i64.const 63)) (local.get $a)))))

  (func $reversed (param $a i32) (result i32)
    (local.set $a (i32.or (i32.and (i32.shr_u (local.get $a) (i32.const 1)) (i32.const 0x55555555))
                          (i32.shl (i32.and (local.get $a) (i32.const 0x55555555)) (i32.const 1))))
    (local.set $a (i32.or (i32.and (i32.shr_u (local.get $a) (i32.const 2)) (i32.const 0x33333333))
                          (i32.shl (i32.and (local.get $a) (i32.const 0x33333333)) (i32.const 2))))
    (local.set $a (i32.or (i32.and (i32.shr_u (local.get $a) (i32.const 4)) (i32.const 0x0F0F0F0F))
                          (i32.shl (i32.and (local.get $a) (i32.const 0x0F0F0F0F)) (i32.const 4))))
    (i32.or (i32.rotl (i32.and (local.get $a) (i32.const 0x00FF00FF)) (i32.const 24))
            (i32.rotl (i32.and (local.get $a) (i32.const 0xFF00FF00)) (i32.const 8))))

  (func $min32 (param $a f32) (param $b f32) (result f32)
    (if (f32.ne (local.get $a) (local.get $a)) (then (return (call $c32 (local.get $b)))))
    (if (f32.ne (local.get $b) (local.get $b)) (then (return (local.get $a))))
    (f32.min (local.get $a) (local.get $b)))
  (func $max32 (param $a f32) (param $b f32) (result f32)
    (if (f32.ne (local.get $a) (local.get $a)) (then (return (call $c32 (local.get $b)))))
    (if (f32.ne (local.get $b) (local.get $b)) (then (return (local.get $a))))
    (f32.max (local.get $a) (local.get $b)))

  ;; isa/integer.py: x / 0 has all bits set, INT_MIN / -1 is INT_MIN, x rem 0 has all bits set.
  (func $div_s32 (param $a i32) (param $b i32) (result i32)
    (if (i32.eqz (local.get $b)) (then (return (i32.const -1))))
    (if (i32.eq (local.get $b) (i32.const -1)) (then (return (i32.sub (i32.const 0) (local.get $a)))))
    (i32.div_s (local.get $a) (local.get $b)))
  (func $div_u32 (param $a i32) (param $b i32) (result i32)
    (if (i32.eqz (local.get $b)) (then (return (i32.const -1))))
    (i32.div_u (local.get $a) (local.get $b)))
  (func $rem_s32 (param $a i32) (param $b i32) (result i32)
    (if (i32.eqz (local.get $b)) (then (return (i32.const -1))))
    (i32.rem_s (local.get $a) (local.get $b)))
  (func $rem_u32 (param $a i32) (param $b i32) (result i32)
    (if (i32.eqz (local.get $b)) (then (return (i32.const -1))))
    (i32.rem_u (local.get $a) (local.get $b)))
  (func $div_s64 (param $a i64) (param $b i64) (result i64)
    (if (i64.eqz (local.get $b)) (then (return (i64.const -1))))
    (if (i64.eq (local.get $b) (i64.const -1)) (then (return (i64.sub (i64.const 0) (local.get $a)))))
    (i64.div_s (local.get $a) (local.get $b)))
  (func $div_u64 (param $a i64) (param $b i64) (result i64)
    (if (i64.eqz (local.get $b)) (then (return (i64.const -1))))
    (i64.div_u (local.get $a) (local.get $b)))
  (func $rem_s64 (param $a i64) (param $b i64) (result i64)
    (if (i64.eqz (local.get $b)) (then (return (i64.const -1))))
    (i64.rem_s (local.get $a) (local.get $b)))
  (func $rem_u64 (param $a i64) (param $b i64) (result i64)
    (if (i64.eqz (local.get $b)) (then (return (i64.const -1))))
    (i64.rem_u (local.get $a) (local.get $b)))

  ;; ---- places: from an address to linear memory, or not at all -----------------------
  ;; $w bytes at $a, by the lane described at $l.  $copy: what is loaded is only stored elsewhere.

  (func $global_entry (param $a i64) (result i32)
    (local $slot i64)
    (local.set $slot (i64.shr_u (i64.sub (local.get $a) (i64.load (i32.const {ORIGIN}))) (i64.const 28)))
    (if (i64.ge_u (local.get $slot) (i64.load32_u (i32.const {GLOBAL_SLOTS}))) (then unreachable))
    (i32.add (i32.load (i32.const {GLOBAL_TABLE})) (i32.shl (i32.wrap_i64 (local.get $slot)) (i32.const 6))))

  (func $global_load (param $a i64) (param $w i32) (param $l i32) (param $copy i32) (result i32)
    (local $entry i32) (local $offset i64)
    (local.set $entry (call $global_entry (local.get $a)))
    (if (i32.load offset=28 (local.get $entry)) (then unreachable))
    (local.set $offset (i64.sub (local.get $a) (i64.load offset=32 (local.get $entry))))
    (call $load_at (local.get $entry) (local.get $offset) (local.get $w) (local.get $l) (local.get $copy)))

  ;; Constant memory is no business of observers: they see it through no other instruction either.
  (func $const_load (param $a i64) (param $w i32) (param $l i32) (result i32)
    (local $entry i32)
    (local.set $entry (call $global_entry (local.get $a)))
    (if (i32.eqz (i32.load offset=28 (local.get $entry))) (then unreachable))
    (call $load_at (local.get $entry)
        (i64.sub (local.get $a) (i64.load offset=32 (local.get $entry)))
        (local.get $w) (local.get $l) (i32.const 0)))

  (func $load_at (param $entry i32) (param $offset i64) (param $w i32) (param $l i32) (param $copy i32) (result i32)
    (local $o i32)
    (if (i32.or
          (i64.gt_u (i64.add (local.get $offset) (i64.extend_i32_u (local.get $w))) (i64.load32_u offset=4 (local.get $entry)))
          (i32.or (i64.lt_s (local.get $offset) (i64.const 0))
                  (i32.and (i32.wrap_i64 (local.get $offset)) (i32.sub (local.get $w) (i32.const 1)))))
      (then unreachable))
    (local.set $o (i32.wrap_i64 (local.get $offset)))
    (if (i32.load offset=20 (local.get $entry))
      (then (local.set $o (i32.add (local.get $o) (i32.mul (i32.load offset=16 (local.get $entry)) (i32.load (local.get $l)))))))
    (if (i32.load offset=8 (local.get $entry))
      (then (call $check_written (i32.add (i32.load offset=8 (local.get $entry)) (local.get $o)) (local.get $w) (local.get $copy))))
    (if (i32.and (global.get $observe) (global.get $races))
      (then (if (i32.load offset=12 (local.get $entry))
        (then (call $note_load
          (call $history (local.get $entry) (local.get $o))
          (call $history (local.get $entry) (i32.add (local.get $o) (local.get $w))) (local.get $l))))))
    (i32.add (i32.load (local.get $entry)) (local.get $o)))

  (func $global_store (param $a i64) (param $w i32) (param $l i32) (result i32)
    (local $entry i32) (local $offset i64)
    (local.set $entry (call $global_entry (local.get $a)))
    {ON_STORE}
    (i32.store offset=40 (local.get $entry) (i32.const 1))
    (local.set $offset (i64.sub (local.get $a) (i64.load offset=32 (local.get $entry))))
    (call $store_at (local.get $entry) (local.get $offset) (local.get $w) (local.get $l)))

  (func $store_at (param $entry i32) (param $offset i64) (param $w i32) (param $l i32) (result i32)
    (local $o i32)
    (if (i32.or
          (i64.gt_u (i64.add (local.get $offset) (i64.extend_i32_u (local.get $w))) (i64.load32_u offset=4 (local.get $entry)))
          (i32.or (i64.lt_s (local.get $offset) (i64.const 0))
                  (i32.and (i32.wrap_i64 (local.get $offset)) (i32.sub (local.get $w) (i32.const 1)))))
      (then unreachable))
    (if (i32.load offset=24 (local.get $entry)) (then unreachable))
    (local.set $o (i32.wrap_i64 (local.get $offset)))
    (if (i32.load offset=20 (local.get $entry))
      (then (local.set $o (i32.add (local.get $o) (i32.mul (i32.load offset=16 (local.get $entry)) (i32.load (local.get $l)))))))
    (if (i32.load offset=8 (local.get $entry))
      (then (call $mark_written (i32.add (i32.load offset=8 (local.get $entry)) (local.get $o)) (local.get $w))))
    (if (i32.and (global.get $observe) (global.get $races))
      (then (if (i32.load offset=12 (local.get $entry))
        (then (call $note_store
          (call $history (local.get $entry) (local.get $o))
          (call $history (local.get $entry) (i32.add (local.get $o) (local.get $w))) (local.get $l))))))
    (i32.add (i32.load (local.get $entry)) (local.get $o)))

  ;; Of a block's few arrays the one that the address lies in.
  (func $shared_entry (param $a i64) (result i32)
    (local $entry i32) (local $left i32)
    (local.set $entry (i32.load (i32.const {SHARED_TABLE})))
    (local.set $left (i32.load (i32.const {SHARED_SLOTS})))
    (block $none
      (loop $next
        (br_if $none (i32.eqz (local.get $left)))
        (if (i64.lt_u (i64.sub (local.get $a) (i64.load offset=32 (local.get $entry))) (i64.load32_u offset=4 (local.get $entry)))
          (then (return (local.get $entry))))
        (local.set $entry (i32.add (local.get $entry) (i32.const 64)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $next)))
    unreachable)

  ;; $shared_address is left as the address within the block's storage, which decides about banks.
  (func $shared_load (param $a i64) (param $w i32) (param $l i32) (param $copy i32) (result i32)
    (local $entry i32) (local $offset i64)
    (local.set $entry (call $shared_entry (local.get $a)))
    (local.set $offset (i64.sub (local.get $a) (i64.load offset=32 (local.get $entry))))
    (global.set $shared_address (i64.add (local.get $offset) (i64.load32_u offset=28 (local.get $entry))))
    (call $load_at (local.get $entry) (local.get $offset) (local.get $w) (local.get $l) (local.get $copy)))
  (func $shared_store (param $a i64) (param $w i32) (param $l i32) (result i32)
    (local $entry i32) (local $offset i64)
    (local.set $entry (call $shared_entry (local.get $a)))
    (local.set $offset (i64.sub (local.get $a) (i64.load offset=32 (local.get $entry))))
    (global.set $shared_address (i64.add (local.get $offset) (i64.load32_u offset=28 (local.get $entry))))
    (call $store_at (local.get $entry) (local.get $offset) (local.get $w) (local.get $l)))

  (func $local_place (param $a i64) (param $w i32) (param $lane i32) (param $write i32) (result i32)
    (local $entry i32) (local $offset i64)
    (if (i64.ge_u (i64.shr_u (local.get $a) (i64.const 20)) (i64.load32_u (i32.const {LOCAL_SLOTS}))) (then unreachable))
    (local.set $entry (i32.add (i32.load (i32.const {LOCAL_TABLE}))
        (i32.shl (i32.wrap_i64 (i64.shr_u (local.get $a) (i64.const 20))) (i32.const 6))))
    (local.set $offset (i64.sub (local.get $a) (i64.load offset=32 (local.get $entry))))
    (if (i32.or
          (i64.gt_u (i64.add (local.get $offset) (i64.extend_i32_u (local.get $w))) (i64.load32_u offset=4 (local.get $entry)))
          (i32.or (i64.lt_s (local.get $offset) (i64.const 0))
                  (i32.and (i32.wrap_i64 (local.get $offset)) (i32.sub (local.get $w) (i32.const 1)))))
      (then unreachable))
    (if (i32.and (local.get $write) (i32.load offset=24 (local.get $entry))) (then unreachable))
    (i32.add (i32.add (i32.load (local.get $entry)) (i32.wrap_i64 (local.get $offset)))
             (i32.mul (i32.load offset=16 (local.get $entry)) (local.get $lane))))

  ;; Generic addresses; $space is left as 0 global, 1 shared, 2 local.
  (func $generic_load (param $a i64) (param $w i32) (param $l i32) (param $copy i32) (param $lane i32) (result i32)
    (local $low i64)
    (local.set $low (i64.and (local.get $a) (i64.const 0xFFFFFFFF)))
    (if (i64.eq (i64.shr_u (local.get $a) (i64.const 32)) (i64.const {SHARED_HIGH}))
      (then (global.set $space (i32.const 1))
            (return (call $shared_load (local.get $low) (local.get $w) (local.get $l) (local.get $copy)))))
    (if (i64.eq (i64.shr_u (local.get $a) (i64.const 32)) (i64.const {LOCAL_HIGH}))
      (then (global.set $space (i32.const 2))
            (return (call $local_place (local.get $low) (local.get $w) (local.get $lane) (i32.const 0)))))
    (global.set $space (i32.const 0))
    (call $global_load (local.get $a) (local.get $w) (local.get $l) (local.get $copy)))
  (func $generic_store (param $a i64) (param $w i32) (param $l i32) (param $lane i32) (result i32)
    (local $low i64)
    (local.set $low (i64.and (local.get $a) (i64.const 0xFFFFFFFF)))
    (if (i64.eq (i64.shr_u (local.get $a) (i64.const 32)) (i64.const {SHARED_HIGH}))
      (then (global.set $space (i32.const 1))
            (return (call $shared_store (local.get $low) (local.get $w) (local.get $l)))))
    (if (i64.eq (i64.shr_u (local.get $a) (i64.const 32)) (i64.const {LOCAL_HIGH}))
      (then (global.set $space (i32.const 2))
            (return (call $local_place (local.get $low) (local.get $w) (local.get $lane) (i32.const 1)))))
    (global.set $space (i32.const 0))
    (call $global_store (local.get $a) (local.get $w) (local.get $l)))

  ;; machine/load_store.py, check_written: of a copy one written byte is enough.
  (func $check_written (param $flags i32) (param $w i32) (param $copy i32)
    (local $any i32) (local $all i32)
    (if (i32.eq (local.get $w) (i32.const 4))
      (then (if (i32.eq (i32.load (local.get $flags)) (i32.const 0x01010101)) (then (return)))))
    (local.set $all (i32.const 1))
    (loop $next
      (local.set $w (i32.sub (local.get $w) (i32.const 1)))
      (local.set $any (i32.or (local.get $any) (i32.load8_u (i32.add (local.get $flags) (local.get $w)))))
      (local.set $all (i32.and (local.get $all) (i32.load8_u (i32.add (local.get $flags) (local.get $w)))))
      (br_if $next (local.get $w)))
    (if (i32.eqz (select (local.get $any) (local.get $all) (local.get $copy))) (then unreachable)))

  (func $mark_written (param $flags i32) (param $w i32)
    (if (i32.eq (local.get $w) (i32.const 4)) (then (i32.store (local.get $flags) (i32.const 0x01010101)) (return)))
    (if (i32.eq (local.get $w) (i32.const 1)) (then (i32.store8 (local.get $flags) (i32.const 1)) (return)))
    (if (i32.eq (local.get $w) (i32.const 2)) (then (i32.store16 (local.get $flags) (i32.const 0x0101)) (return)))
    (i64.store (local.get $flags) (i64.const 0x0101010101010101))
    (if (i32.eq (local.get $w) (i32.const 16)) (then (i64.store offset=8 (local.get $flags) (i64.const 0x0101010101010101)))))

  (func $history (param $entry i32) (param $o i32) (result i32)
    (i32.add (i32.load offset=12 (local.get $entry)) (i32.shl (i32.shr_u (local.get $o) (i32.const {UNIT_LOG})) (i32.const 4))))

  ;; What generated code keeps with an instruction about the array that it goes to.
  (func $keep_global (param $a i64) (param $kept i32) (param $w i32)
    (call $keep (call $global_entry (local.get $a)) (local.get $kept) (local.get $w)))
  (func $keep_shared (param $a i64) (param $kept i32) (param $w i32)
    (call $keep (call $shared_entry (local.get $a)) (local.get $kept) (local.get $w)))
  (func $keep (param $entry i32) (param $kept i32) (param $w i32)
    ;; Of constant and read-only memory, and of arrays too small for any such access, nothing is kept.
    (i64.store offset=8 (local.get $kept) (i64.const 0))
    (if (i32.or (i32.load offset=24 (local.get $entry)) (i32.lt_u (i32.load offset=4 (local.get $entry)) (local.get $w)))
      (then (return)))
    (i64.store (local.get $kept) (i64.load offset=32 (local.get $entry)))
    (i64.store offset=8 (local.get $kept)
      (i64.extend_i32_u (i32.add (i32.sub (i32.load offset=4 (local.get $entry)) (local.get $w)) (i32.const 1))))
    (i32.store offset=16 (local.get $kept) (i32.load (local.get $entry)))
    (i32.store offset=20 (local.get $kept) (i32.load offset=8 (local.get $entry)))
    (i32.store offset=24 (local.get $kept)
      (if (result i32) (global.get $races) (then (i32.load offset=12 (local.get $entry))) (else (i32.const 0))))
    (i32.store offset=28 (local.get $kept) (i32.load offset=28 (local.get $entry))))

  ;; ---- races: at least what observers/races.py reports, found with one writer and one reader a unit ----

  (func $note_load (param $h i32) (param $end i32) (param $l i32)
    (local $me i32) (local $now i32) (local $who i32) (local $when i32)
    (local.set $me (i32.load offset=4 (local.get $l)))
    (local.set $now (i32.load (i32.load offset=8 (local.get $l))))
    (loop $next
      (local.set $who (i32.load (local.get $h)))
      (if (i32.and (i32.ne (local.get $who) (i32.const 0)) (i32.ne (local.get $who) (local.get $me)))
        (then (if (i32.or (i32.ne (i32.shr_u (local.get $who) (i32.const 10)) (i32.shr_u (local.get $me) (i32.const 10)))
                          (i32.ge_u (i32.load offset=4 (local.get $h)) (local.get $now)))
          (then unreachable))))
      (local.set $who (i32.load offset=8 (local.get $h)))
      (local.set $when (i32.load offset=12 (local.get $h)))
      (if (i32.and (i32.ne (local.get $who) (i32.const 0))
                   (i32.ne (i32.shr_u (local.get $who) (i32.const 10)) (i32.shr_u (local.get $me) (i32.const 10))))
        (then (i32.store offset=12 (local.get $h) (i32.or (local.get $when) (i32.const 1))))
        (else
          (i32.store offset=8 (local.get $h) (local.get $me))
          (if (i32.and (i32.ne (local.get $who) (i32.const 0))
                       (i32.eq (i32.shr_u (local.get $when) (i32.const 2)) (local.get $now)))
            (then (if (i32.ne (local.get $who) (local.get $me))
              (then (i32.store offset=12 (local.get $h) (i32.or (local.get $when) (i32.const 2))))))
            (else (i32.store offset=12 (local.get $h)
                    (i32.or (i32.shl (local.get $now) (i32.const 2)) (i32.and (local.get $when) (i32.const 1))))))))
      (local.set $h (i32.add (local.get $h) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $h) (local.get $end)))))

  (func $note_store (param $h i32) (param $end i32) (param $l i32)
    (local $me i32) (local $now i32) (local $who i32) (local $when i32)
    (local.set $me (i32.load offset=4 (local.get $l)))
    (local.set $now (i32.load (i32.load offset=8 (local.get $l))))
    (loop $next
      (local.set $who (i32.load (local.get $h)))
      (if (i32.and (i32.ne (local.get $who) (i32.const 0)) (i32.ne (local.get $who) (local.get $me)))
        (then (if (i32.or (i32.ne (i32.shr_u (local.get $who) (i32.const 10)) (i32.shr_u (local.get $me) (i32.const 10)))
                          (i32.ge_u (i32.load offset=4 (local.get $h)) (local.get $now)))
          (then unreachable))))
      (local.set $who (i32.load offset=8 (local.get $h)))
      (if (local.get $who)
        (then
          (local.set $when (i32.load offset=12 (local.get $h)))
          (if (i32.or
                (i32.or (i32.and (local.get $when) (i32.const 1))
                        (i32.ne (i32.shr_u (local.get $who) (i32.const 10)) (i32.shr_u (local.get $me) (i32.const 10))))
                (i32.and (i32.eq (i32.shr_u (local.get $when) (i32.const 2)) (local.get $now))
                         (i32.or (i32.ne (local.get $who) (local.get $me)) (i32.and (local.get $when) (i32.const 2)))))
            (then unreachable))))
      (i32.store (local.get $h) (local.get $me))
      (i32.store offset=4 (local.get $h) (local.get $now))
      (local.set $h (i32.add (local.get $h) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $h) (local.get $end)))))

  ;; ---- traffic: observers/traffic.py, one request of a warp at a time ----------------------------
  ;; $buffer holds an address (i64) for each lane of the warp, $mask says which lanes take part.

  (func $bump (param $at i32) (param $by i32)
    (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (i64.extend_i32_u (local.get $by)))))

  ;; Requests whose lanes' bytes, or words, fit into a sector.
  (func $few (param $counter i32) (param $lanes i32) (param $log i64)
    (if (i32.le_u (i32.shl (local.get $lanes)
          (select (i32.wrap_i64 (local.get $log)) (i32.const 2) (i64.gt_u (local.get $log) (i64.const 2)))) (i32.const 32))
      (then
        (call $bump (i32.add (local.get $counter) (i32.const 184)) (i32.const 1))
        (call $bump (i32.add (local.get $counter) (i32.const 192)) (local.get $lanes)))))

  ;; How many different values (address >> $shift) there are.  Ascending ones need no search.
  (func $distinct (param $buffer i32) (param $mask i32) (param $shift i64) (result i32)
    (local $value i64) (local $largest i64) (local $count i32) (local $i i32) (local $scratch i32)
    (local.set $scratch (i32.const {ADDRESSES}))
    (local.set $largest (i64.const -1))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $mask)))
        (local.set $value (i64.shr_u (i64.load (i32.add (local.get $buffer)
            (i32.shl (i32.ctz (local.get $mask)) (i32.const 3)))) (local.get $shift)))
        (local.set $mask (i32.and (local.get $mask) (i32.sub (local.get $mask) (i32.const 1))))
        (br_if $next (i64.eq (local.get $value) (local.get $largest)))
        (if (i64.gt_s (local.get $value) (local.get $largest))
          (then (local.set $largest (local.get $value)))
          (else
            (local.set $i (i32.shl (local.get $count) (i32.const 3)))
            (loop $search
              (local.set $i (i32.sub (local.get $i) (i32.const 8)))
              (br_if $next (i64.eq (i64.load (i32.add (local.get $scratch) (local.get $i))) (local.get $value)))
              (br_if $search (local.get $i)))))
        (i64.store (i32.add (local.get $scratch) (i32.shl (local.get $count) (i32.const 3))) (local.get $value))
        (local.set $count (i32.add (local.get $count) (i32.const 1)))
        (br $next)))
    (local.get $count))

  (func $global_request (param $counter i32) (param $buffer i32) (param $mask i32) (param $log i64)
    (local $sectors i32) (local $unique i32)
    (if (i32.eq (i32.popcnt (local.get $mask)) (i32.const 1))
      (then (local.set $sectors (i32.const 1)) (local.set $unique (i32.shl (i32.const 1) (i32.wrap_i64 (local.get $log)))))
      (else
        (local.set $sectors (call $distinct (local.get $buffer) (local.get $mask) (i64.const 5)))
        (local.set $unique (i32.shl (call $distinct (local.get $buffer) (local.get $mask) (local.get $log))
                                    (i32.wrap_i64 (local.get $log))))))
    (call $bump (local.get $counter) (i32.const 1))
    (call $bump (i32.add (local.get $counter) (i32.const 8)) (i32.popcnt (local.get $mask)))
    (call $bump (i32.add (local.get $counter) (i32.const 24)) (local.get $sectors))
    (call $bump (i32.add (local.get $counter) (i32.const 32)) (i32.shr_u (i32.add (local.get $unique) (i32.const 31)) (i32.const 5)))
    (call $bump (i32.add (local.get $counter) (i32.const 40)) (local.get $unique))
    (call $few (local.get $counter) (i32.popcnt (local.get $mask)) (local.get $log)))

  ;; The most distinct words of one bank, of the lanes in $mask with $words words each.
  (func $conflicts (param $buffer i32) (param $mask i32) (param $words i32) (result i32)
    (local $word i32) (local $k i32) (local $bank i32) (local $count i32) (local $i i32) (local $most i32) (local $list i32)
    (i64.store (i32.const {BANKS}) (i64.const 0))
    (i64.store offset=8 (i32.const {BANKS}) (i64.const 0))
    (i64.store offset=16 (i32.const {BANKS}) (i64.const 0))
    (i64.store offset=24 (i32.const {BANKS}) (i64.const 0))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $mask)))
        (local.set $word (i32.wrap_i64 (i64.shr_u (i64.load (i32.add (local.get $buffer)
            (i32.shl (i32.ctz (local.get $mask)) (i32.const 3)))) (i64.const 2))))
        (local.set $mask (i32.and (local.get $mask) (i32.sub (local.get $mask) (i32.const 1))))
        (local.set $k (local.get $words))
        (loop $each
          (block $known
            (local.set $bank (i32.and (local.get $word) (i32.const 31)))
            (local.set $count (i32.load8_u offset={BANKS} (local.get $bank)))
            (local.set $list (i32.add (i32.const {WORDS}) (i32.shl (local.get $bank) (i32.const 7))))
            (local.set $i (i32.const 0))
            (block $new
              (loop $search
                (br_if $new (i32.ge_u (local.get $i) (local.get $count)))
                (br_if $known (i32.eq (i32.load (i32.add (local.get $list) (i32.shl (local.get $i) (i32.const 2)))) (local.get $word)))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br $search)))
            (i32.store (i32.add (local.get $list) (i32.shl (local.get $count) (i32.const 2))) (local.get $word))
            (local.set $count (i32.add (local.get $count) (i32.const 1)))
            (i32.store8 offset={BANKS} (local.get $bank) (local.get $count))
            (if (i32.gt_u (local.get $count) (local.get $most)) (then (local.set $most (local.get $count)))))
          (local.set $word (i32.add (local.get $word) (i32.const 1)))
          (local.set $k (i32.sub (local.get $k) (i32.const 1)))
          (br_if $each (local.get $k)))
        (br $next)))
    (local.get $most))

  ;; Whether no two lanes at this distance want different addresses.
  (func $pairs_agree (param $buffer i32) (param $mask i32) (param $distance i32) (result i32)
    (local $left i32) (local $lane i32)
    (local.set $left (local.get $mask))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $left)))
        (local.set $lane (i32.ctz (local.get $left)))
        (local.set $left (i32.and (local.get $left) (i32.sub (local.get $left) (i32.const 1))))
        (br_if $next (i32.eqz (i32.and (i32.shr_u (local.get $mask) (i32.xor (local.get $lane) (local.get $distance))) (i32.const 1))))
        (br_if $next (i64.eq
          (i64.load (i32.add (local.get $buffer) (i32.shl (local.get $lane) (i32.const 3))))
          (i64.load (i32.add (local.get $buffer) (i32.shl (i32.xor (local.get $lane) (local.get $distance)) (i32.const 3))))))
        (return (i32.const 0))))
    (i32.const 1))

  (func $shared_request (param $counter i32) (param $event i32) (param $buffer i32) (param $mask i32) (param $log i64) (param $load i32)
    (local $wavefronts i32) (local $ideal i32) (local $unique i32) (local $ways i32) (local $group i32) (local $start i32) (local $part i32)
    (if (i64.le_u (local.get $log) (i64.const 2))
      (then
        (local.set $wavefronts (if (result i32) (i32.eq (i32.popcnt (local.get $mask)) (i32.const 1))
          (then (i32.const 1))
          (else (call $conflicts (local.get $buffer) (local.get $mask) (i32.const 1)))))
        (local.set $ideal (i32.const 1)))
      (else
        ;; Halves or quarters of a warp; twice as wide where neighbours agree.
        (local.set $group (i32.shr_u (i32.const 128) (i32.wrap_i64 (local.get $log))))
        (if (local.get $load)
          (then (if (i32.or (call $pairs_agree (local.get $buffer) (local.get $mask) (i32.const 1))
                            (call $pairs_agree (local.get $buffer) (local.get $mask) (i32.const 2)))
            (then (local.set $group (i32.shl (local.get $group) (i32.const 1)))))))
        (loop $next
          (local.set $part (i32.and (local.get $mask)
            (if (result i32) (i32.eq (local.get $group) (i32.const 32)) (then (i32.const -1))
              (else (i32.shl (i32.sub (i32.shl (i32.const 1) (local.get $group)) (i32.const 1)) (local.get $start))))))
          (if (local.get $part)
            (then
              (local.set $ideal (i32.add (local.get $ideal) (i32.const 1)))
              (local.set $wavefronts (i32.add (local.get $wavefronts)
                (call $conflicts (local.get $buffer) (local.get $part)
                  (i32.shr_u (i32.shl (i32.const 1) (i32.wrap_i64 (local.get $log))) (i32.const 2)))))))
          (local.set $start (i32.add (local.get $start) (local.get $group)))
          (br_if $next (i32.lt_u (local.get $start) (i32.const 32))))))
    (local.set $unique (i32.shl (call $distinct (local.get $buffer) (local.get $mask) (local.get $log)) (i32.wrap_i64 (local.get $log))))
    (call $bump (local.get $counter) (i32.const 1))
    (call $bump (i32.add (local.get $counter) (i32.const 8)) (i32.popcnt (local.get $mask)))
    (call $bump (i32.add (local.get $counter) (i32.const 16)) (local.get $wavefronts))
    (call $bump (i32.add (local.get $counter) (i32.const 32)) (local.get $ideal))
    (call $bump (i32.add (local.get $counter) (i32.const 40)) (local.get $unique))
    (call $few (local.get $counter) (i32.popcnt (local.get $mask)) (local.get $log))
    (if (i32.le_u (local.get $wavefronts) (i32.load (local.get $event))) (then (return)))
    ;; Of one group ways are wavefronts, so one that is no worse than what is known changes nothing.
    (if (i32.and (i64.le_u (local.get $log) (i64.const 2))
          (i32.and (i32.load offset=52 (local.get $counter)) (i32.le_u (local.get $wavefronts) (i32.load offset=48 (local.get $counter)))))
      (then (return)))
    (i32.store (local.get $event) (local.get $wavefronts))
    (local.set $ways (i32.div_u (i32.sub (i32.add (local.get $wavefronts) (local.get $ideal)) (i32.const 1)) (local.get $ideal)))
    (if (i32.gt_u (local.get $ways) (i32.load offset=4 (local.get $event)))
      (then (i32.store offset=4 (local.get $event) (local.get $ways))))
    (local.set $start (i32.const 0))
    (loop $copy
      (i32.store offset=8 (i32.add (local.get $event) (i32.shl (local.get $start) (i32.const 2)))
        (if (result i32) (i32.and (i32.shr_u (local.get $mask) (local.get $start)) (i32.const 1))
          (then (i32.wrap_i64 (i64.shr_u (i64.load (i32.add (local.get $buffer) (i32.shl (local.get $start) (i32.const 3)))) (i64.const 2))))
          (else (i32.const -1))))
      (local.set $start (i32.add (local.get $start) (i32.const 1)))
      (br_if $copy (i32.lt_u (local.get $start) (i32.const 32)))))

  ;; All warps of an access have been counted: were they worse than any before?
  (func $event_end (param $counter i32) (param $event i32)
    (if (i32.eqz (i32.load (local.get $event))) (then (return)))
    (if (i32.or (i32.gt_u (i32.load offset=4 (local.get $event)) (i32.load offset=48 (local.get $counter)))
                (i32.eqz (i32.load offset=52 (local.get $counter))))
      (then
        (if (i32.gt_u (i32.load offset=4 (local.get $event)) (i32.load offset=48 (local.get $counter)))
          (then (i32.store offset=48 (local.get $counter) (i32.load offset=4 (local.get $event)))))
        (i32.store offset=52 (local.get $counter) (i32.const 1))
        (memory.copy (i32.add (local.get $counter) (i32.const 56)) (i32.add (local.get $event) (i32.const 8)) (i32.const 128))))
    (i64.store (local.get $event) (i64.const 0)))
