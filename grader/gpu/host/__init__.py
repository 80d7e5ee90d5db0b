"""The grader's side of the GPU process: started, asked, and replaced where a kernel broke it."""
