import java.util.Objects;

/** Checks for test programs. */
final class Check {
    private Check() {}

    /** Ends the program if a result differs from the expected one. */
    static void expect(String what, Object found, Object expected) {
        if (!Objects.deepEquals(found, expected)) {
            throw new AssertionError(what + ": " + found + ", not " + expected);
        }
    }

    /** A step that may throw any exception. */
    interface Step {
        void run() throws Exception;
    }

    /** Ends the program unless a step throws an exception whose message contains this text. */
    static void expectError(String words, Step step) {
        try {
            step.run();
        } catch (Exception error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                if (String.valueOf(cause.getMessage()).contains(words)) {
                    return;
                }
            }
            throw new AssertionError("no error with '" + words + "'", error);
        }
        throw new AssertionError("no error, not one with '" + words + "'");
    }
}
