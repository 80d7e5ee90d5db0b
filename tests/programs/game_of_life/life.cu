/* Kompilacja: nvcc -o life life.cu */
/*
 * Zasady:
 *   - zywa komorka z 2 lub 3 zywymi sasiadami zyje dalej,
 *   - martwa komorka z dokladnie 3 zywymi sasiadami ozywa,
 *   - w kazdym innym przypadku komorka jest martwa.
 *
 * Brzegi sa sklejone: lewy z prawym, gorny z dolnym.
 *
 * Wersja 0: sasiedzi czytani z pamieci globalnej.
 * Wersja 1: blok 8 x 8 wczytuje kafelek 10 x 10 do pamieci wspoldzielonej.
 *
 * Szybowiec po 4 krokach przesuwa sie o jedno pole w prawo i w dol.
 */
/*
 * Gra w życie na torusie: dwie tablice na zmianę, wersja zwykła i z pamięcią współdzieloną.
 * Plansza z pliku tekstowego: '#' żywa, '.' martwa.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE 8
#define MAX_SIDE 64

typedef unsigned char cell;

struct Board
{
    int width, height;
    cell *cells;
};

__device__ int wrap(int x, int n)
{
    return x < 0 ? x + n : x >= n ? x - n : x;
}

__global__ void step_global(const cell *now, cell *next, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    int neighbours = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
                neighbours += now[wrap(y + dy, h) * w + wrap(x + dx, w)];
    cell alive = now[y * w + x];
    next[y * w + x] = neighbours == 3 || (alive && neighbours == 2);
}

__global__ void step_shared(const cell *now, cell *next, int w, int h)
{
    __shared__ cell tile[TILE + 2][TILE + 2];
    int left = blockIdx.x * TILE - 1;
    int top = blockIdx.y * TILE - 1;
    int thread = threadIdx.y * TILE + threadIdx.x;
    for (int k = thread; k < (TILE + 2) * (TILE + 2); k += TILE * TILE)
    {
        int x = wrap(left + k % (TILE + 2), w);
        int y = wrap(top + k / (TILE + 2), h);
        tile[k / (TILE + 2)][k % (TILE + 2)] = x < w && y < h ? now[y * w + x] : 0;
    }
    __syncthreads();
    int x = left + 1 + threadIdx.x;
    int y = top + 1 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    int neighbours = 0;
    for (int dy = 0; dy <= 2; dy++)
        for (int dx = 0; dx <= 2; dx++)
            if (dx != 1 || dy != 1)
                neighbours += tile[threadIdx.y + dy][threadIdx.x + dx];
    cell alive = tile[threadIdx.y + 1][threadIdx.x + 1];
    next[y * w + x] = neighbours == 3 || (alive && neighbours == 2);
}

static void step_cpu(const cell *now, cell *next, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
        {
            int neighbours = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (dx || dy)
                        neighbours += now[(y + dy + h) % h * w + (x + dx + w) % w];
            next[y * w + x] = neighbours == 3 || (now[y * w + x] && neighbours == 2);
        }
}

static int read_board(const char *name, struct Board *board)
{
    char line[MAX_SIDE + 2];
    FILE *file = fopen(name, "r");
    if (!file)
        return 0;
    board->width = board->height = 0;
    board->cells = (cell *)calloc(MAX_SIDE * MAX_SIDE, 1);
    while (fgets(line, sizeof line, file) && board->height < MAX_SIDE)
    {
        line[strcspn(line, "\r\n")] = 0;
        if (!line[0])
            continue;
        board->width = (int)strlen(line);
        for (int x = 0; x < board->width; x++)
            board->cells[board->height * board->width + x] = line[x] == '#';
        board->height++;
    }
    fclose(file);
    return board->height;
}

static void print_board(const struct Board *board)
{
    for (int y = 0; y < board->height; y++)
    {
        for (int x = 0; x < board->width; x++)
            putchar(board->cells[y * board->width + x] ? '#' : '.');
        putchar('\n');
    }
}

static int alive(const struct Board *board)
{
    int count = 0;
    for (int i = 0; i < board->width * board->height; i++)
        count += board->cells[i];
    return count;
}

static void must(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}

int main(int argc, char *argv[])
{
    struct Board board;
    if (argc < 3)
    {
        printf("uzycie: %s plansza.txt kroki\n", argv[0]);
        return 2;
    }
    if (!read_board(argv[1], &board))
    {
        printf("nie ma pliku %s\n", argv[1]);
        return 2;
    }
    int steps = atoi(argv[2]);
    int w = board.width, h = board.height;
    size_t bytes = (size_t)w * h;
    printf("plansza %d x %d, zywych %d\n", w, h, alive(&board));

    cell *expected = (cell *)malloc(bytes), *other = (cell *)malloc(bytes);
    memcpy(expected, board.cells, bytes);
    for (int s = 0; s < steps; s++)
    {
        step_cpu(expected, other, w, h);
        cell *swap = expected;
        expected = other;
        other = swap;
    }

    cell *d_now, *d_next, *start = (cell *)malloc(bytes);
    memcpy(start, board.cells, bytes);
    must(cudaMalloc((void **)&d_now, bytes), "cudaMalloc");
    must(cudaMalloc((void **)&d_next, bytes), "cudaMalloc");
    dim3 block(TILE, TILE), grid((w + TILE - 1) / TILE, (h + TILE - 1) / TILE);
    for (int version = 0; version < 2; version++)
    {
        must(cudaMemcpy(d_now, start, bytes, cudaMemcpyHostToDevice), "kopiowanie");
        for (int s = 0; s < steps; s++)
        {
            if (version == 0)
                step_global<<<grid, block>>>(d_now, d_next, w, h);
            else
                step_shared<<<grid, block>>>(d_now, d_next, w, h);
            must(cudaGetLastError(), "krok");
            cell *swap = d_now;
            d_now = d_next;
            d_next = swap;
        }
        must(cudaMemcpy(board.cells, d_now, bytes, cudaMemcpyDeviceToHost), "kopiowanie");
        printf("wersja %d: %s\n", version, memcmp(board.cells, expected, bytes) ? "zle" : "dobrze");
    }
    print_board(&board);
    cudaFree(d_now);
    cudaFree(d_next);
    free(board.cells);
    free(expected);
    free(other);
    free(start);
    return 0;
}
