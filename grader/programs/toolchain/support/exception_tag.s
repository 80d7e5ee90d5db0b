	.tagtype __cpp_exception i64
	.globl __cpp_exception
__cpp_exception:
