#include <bits/stdc++.h>

int main()
{
    int n;
    std::cin >> n;
    std::vector<double> v(n);
    double sum = 0, square = 0;
    for (double &x : v) {
        std::cin >> x;
        sum += x;
    }
    double mean = sum / n;
    for (double x : v)
        square += (x - mean) * (x - mean);
    printf("%.9f %.9f\n", mean, std::sqrt(square / n));
}
