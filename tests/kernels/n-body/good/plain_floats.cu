// Bodies as four floats each, accelerations as three.
__global__ void naiveForces(const float *pos, float *acc, int numBodies)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= numBodies)
        return;
    float a[3] = {0, 0, 0};
    for (int j = 0; j < numBodies; j++) {
        float d[3], squared = 0.01f;
        for (int c = 0; c < 3; c++) {
            d[c] = pos[4 * j + c] - pos[4 * i + c];
            squared += d[c] * d[c];
        }
        float s = pos[4 * j + 3] * powf(squared, -1.5f);
        for (int c = 0; c < 3; c++)
            a[c] += s * d[c];
    }
    for (int c = 0; c < 3; c++)
        acc[3 * i + c] = a[c];
}
