import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int low = 1, high = 1000;
        while (true) {
            int middle = (low + high) / 2;
            System.out.println(middle);
            System.out.flush();
            String answer = in.next();
            if (answer.equals("right"))
                return;
            if (answer.equals("low"))
                low = middle + 1;
            else
                high = middle - 1;
        }
    }
}
