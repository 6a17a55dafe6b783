#include <bits/stdc++.h>

int main()
{
    int n;
    long s;
    std::cin >> n >> s;
    std::unordered_map<long, int> seen;
    for (int i = 1; i <= n; i++) {
        long x;
        std::cin >> x;
        auto other = seen.find(s - x);
        if (other != seen.end()) {
            std::cout << i << " " << other->second << "\n";
            return 0;
        }
        seen[x] = i;
    }
}
