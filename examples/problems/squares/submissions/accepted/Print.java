import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        long n = new Scanner(System.in).nextLong();
        StringBuilder out = new StringBuilder();
        for (long i = 1; i <= n; i++)
            out.append(i * i).append('\n');
        System.out.print(out);
    }
}
