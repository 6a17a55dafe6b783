#include <iostream>
#include <string>

int main()
{
    int low = 1, high = 1000;
    std::string answer;
    while (answer != "right") {
        int middle = (low + high) / 2;
        std::cout << middle << std::endl;
        std::cin >> answer;
        if (answer == "low")
            low = middle + 1;
        else
            high = middle - 1;
    }
}
