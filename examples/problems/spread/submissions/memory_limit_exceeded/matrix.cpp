#include <vector>

int main()
{
    std::vector<std::vector<double>> rows;
    for (;;)
        rows.emplace_back(1 << 16, 1.0);
}
