import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt();
        double[] v = new double[n];
        double sum = 0;
        for (int i = 0; i < n; i++) {
            v[i] = in.nextInt();
            sum += v[i];
        }
        double square = 0;
        for (double x : v)
            square += (x - sum / n) * (x - sum / n);
        System.out.println(sum / n + "\n" + Math.sqrt(square / n));
    }
}
