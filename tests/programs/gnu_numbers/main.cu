// Random numbers of the C and C++ libraries: what glibc and libstdc++ print stands in expected.yaml.
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <random>
#include <vector>

static void of_cpp() {
    std::mt19937 g(42);

    std::uniform_int_distribution<int> a(0,99);
    for(int i=0;i<5;i++) printf("%d ",a(g));
    puts("uid");
    std::uniform_int_distribution<int> a2(1,100000);
    for(int i=0;i<5;i++) printf("%d ",a2(g));
    puts("uid2");
    std::uniform_real_distribution<float> b(0,1);
    for(int i=0;i<5;i++) printf("%.9g ",b(g));
    puts("urf");
    std::uniform_real_distribution<double> c(-1,1);
    for(int i=0;i<5;i++) printf("%.17g ",c(g));
    puts("urd");
    std::normal_distribution<float> d(0,1);
    for(int i=0;i<5;i++) printf("%.9g ",d(g));
    puts("nf");
    std::normal_distribution<double> e(1,2);
    for(int i=0;i<5;i++) printf("%.17g ",e(g));
    puts("nd");
    std::vector<int> v(10);
    for(int i=0;i<10;i++) v[i]=i;
    std::shuffle(v.begin(),v.end(),g);
    for(int x:v) printf("%d ",x);
    puts("shuffle");
    std::bernoulli_distribution f(0.3);
    for(int i=0;i<9;i++) printf("%d ",(int)f(g));
    puts("bern");
    std::exponential_distribution<double> h(2);
    for(int i=0;i<3;i++) printf("%.17g ",h(g));
    puts("exp");
    std::default_random_engine r;
    printf("%u\n",(unsigned)r());
    std::minstd_rand0 m;
    printf("%u\n",(unsigned)m());
    std::mt19937_64 q;
    printf("%llu\n",(unsigned long long)q());
    std::uniform_real_distribution<float> b2(0,1);
    std::mt19937_64 q2(1);
    printf("%.9g\n", b2(q2));
    std::uniform_int_distribution<int> a4(0,9);
    printf("%d\n", a4(q2));
    printf("%d\n", a4(r));
    printf("%.9g\n", b2(r));
    std::lognormal_distribution<double> ln(0,1);
    printf("%.15g\n", ln(g));
    std::vector<int> w(70000);
    for(int i=0;i<70000;i++) w[i]=i;
    std::shuffle(w.begin(),w.end(),g);
    printf("%d %d\n",w[0],w[69999]);
    std::default_random_engine r3(5);
    std::shuffle(w.begin(),w.begin()+50000,r3);
    printf("%d %d\n",w[0],w[49999]);
    std::random_shuffle(v.begin(), v.end());
    for(int x:v) printf("%d ",x);
    puts("random_shuffle");
    std::uniform_int_distribution<long> ll(-5, 1L<<40);
    printf("%ld %ld\n", ll(g), ll(q2));
}

int main() {
    printf("%d\n", rand());
    for (unsigned seed : {0u, 1u, 42u, 4294967291u, 2147483647u, 2147483648u}) {
        srand(seed);
        for (int i = 0; i < 100; i++) rand();
        printf("%d ", rand());
        printf("%ld\n", random());
    }
    unsigned state = 7;
    printf("%d ", rand_r(&state));
    printf("%d", rand_r(&state));
    printf(" %u\n", state);
    printf("%.17g\n", drand48());
    srand48(123);
    printf("%.17g ", drand48());
    printf("%ld ", lrand48());
    printf("%ld\n", mrand48());
    unsigned short own[3] = {1, 2, 3};
    printf("%.17g ", erand48(own));
    printf("%ld ", nrand48(own));
    printf("%ld\n", jrand48(own));
    of_cpp();
    return 0;
}
