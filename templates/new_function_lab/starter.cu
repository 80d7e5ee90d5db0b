// The grader calls this function; kernels and launches are yours.
@SIGNATURE@
{
    // Your code.
}
