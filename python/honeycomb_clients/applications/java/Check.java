import java.util.Objects;

/** What programs that are tests need. */
final class Check {
    private Check() {}

    /** Ends the program if something else was found than was expected. */
    static void expect(String what, Object found, Object expected) {
        if (!Objects.deepEquals(found, expected)) {
            throw new AssertionError(what + ": " + found + ", not " + expected);
        }
    }

    /** A step that may throw anything. */
    interface Step {
        void run() throws Exception;
    }

    /** Ends the program if a step throws nothing with these words. */
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
