// Лабораторная 2, вариант 14. Студент Яковлев Я. Я.
#include <iostream>
#include <cstdlib>
#include <ctime>
#include <clocale>
using namespace std;

const int BS = 16;   // сторона блока

// Простая версия: каждый поток переносит один элемент. Объясняя: я пишу столбцами
__global__ void transp(int *a, int *b, int n, int m) {
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < m && y < n)
		b[x * n + y] = a[y * m + x];
}

// Версия с разделяемой памятью
__global__ void transpShared(int *a, int *b, int n, int m) {
	__shared__ int t[BS][BS];
	int x = blockIdx.x * BS + threadIdx.x;
	int y = blockIdx.y * BS + threadIdx.y;
	if (x < m && y < n)
		t[threadIdx.y][threadIdx.x] = a[y * m + x];
	__syncthreads();
	x = blockIdx.y * BS + threadIdx.x;
	y = blockIdx.x * BS + threadIdx.y;
	if (x < n && y < m)
		b[y * n + x] = t[threadIdx.x][threadIdx.y];
}

int main() {
	setlocale(LC_ALL, "Russian");
	int n = 45, m = 70;
	int *a = new int[n * m], *b = new int[n * m];
	srand(time(NULL));
	for (int i = 0; i < n * m; i++) a[i] = rand() % 100;
	int *da, *db;
	cudaMalloc(&da, n * m * sizeof(int));
	cudaMalloc(&db, n * m * sizeof(int));
	cudaMemcpy(da, a, n * m * sizeof(int), cudaMemcpyHostToDevice);
	dim3 th(BS, BS);
	dim3 bl((m + BS - 1) / BS, (n + BS - 1) / BS);
	for (int v = 0; v < 2; v++) {
		if (v == 0) transp<<<bl, th>>>(da, db, n, m);
		else transpShared<<<bl, th>>>(da, db, n, m);
		cudaMemcpy(b, db, n * m * sizeof(int), cudaMemcpyDeviceToHost);
		bool ok = true;
		for (int i = 0; i < n; i++)
			for (int j = 0; j < m; j++)
				if (a[i * m + j] != b[j * n + i]) ok = false;
		cout << (v == 0 ? "Простая: " : "Разделяемая: ") << (ok ? "верно" : "неверно, я проверил") << endl;
	}
	delete[] a; delete[] b;
	return 0;
}
