//! Code and prose use the words of the field. This list forbids words and phrases that were coined here, and
//! names the words to use.

use crate::{Repository, Source, Violation};

/// Forbidden words and phrases, and the words to use. An entry matches whole words in any case, and also the
/// words of an identifier: "out of line" matches `out_of_line` and `OutOfLine`. A word also matches its
/// plural.
pub const FORBIDDEN: [(&str, &str); 35] = [
    // Names of things.
    ("card", "device"),
    ("delete marker", "tombstone"),
    ("out of line", "overflow value"),
    ("piece", "item run, chunk or burst"),
    ("interior join", "merge of interior nodes"),
    ("leaf join", "merge of leaves"),
    // Verbs.
    ("asked", "requested"),
    ("told", "notified, reported or passed"),
    ("carry out", "execute"),
    ("carries out", "executes"),
    ("carried out", "executed"),
    ("carrying out", "executing"),
    ("begin again", "retry, restart"),
    ("begins again", "retries, restarts"),
    ("began again", "retried, restarted"),
    ("begun again", "retried, restarted"),
    ("goes before", "precedes, overrides"),
    ("lets go", "releases"),
    ("lend", "provide"),
    // Phrases that hide the agent or the noun.
    ("whoever", "the noun: the caller, the client, the writer"),
    ("what came", "the noun: the request, the input"),
    ("what comes", "the noun: the request, the input"),
    ("what was asked", "the request"),
    ("what it is", "the noun"),
    ("none if", "a sentence with a subject"),
    ("so many", "the number"),
    ("are no", "are not"),
    ("is no", "is not"),
    ("was no", "was not"),
    ("as yet", "yet"),
    ("at hand", "available"),
    ("be had", "be available"),
    ("for want of", "without, for lack of"),
    ("in one go", "at once"),
    ("therein", "in it"),
];

/// Files that may contain forbidden words: this list, the list of renames, the rule on prose with its
/// examples, and measurements as they were recorded.
const EXEMPT: [&str; 4] = ["crates/tidy/src/words.rs", "CHANGELOG.md", "CONTRIBUTING.md", "docs/results/"];

/// Finds forbidden words.
pub fn check(repository: &Repository) -> Vec<Violation> {
    let is_exempt = |source: &&Source| EXEMPT.iter().any(|path| source.path.starts_with(path));
    repository.sources().filter(|source| !is_exempt(source)).flat_map(check_source).collect()
}

fn check_source(source: &Source) -> impl Iterator<Item = Violation> {
    source.text.lines().enumerate().flat_map(move |(index, line)| {
        let words = words(line);
        // `None if` also begins a match arm with a guard.
        let is_arm = |phrase: &str| phrase == "none if" && line.contains("=>");
        let found = move |(phrase, _): &&(&str, &str)| contains(&words, phrase) && !is_arm(phrase);
        let forbidden = FORBIDDEN.iter().filter(found);
        forbidden.map(move |(phrase, instead)| {
            source.violation(index + 1, format!("\"{phrase}\": write {instead}"))
        })
    })
}

/// Returns whether `words` contain the words of `phrase` in a row. "There is no" and "is no longer" are plain
/// English.
fn contains(words: &[String], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).enumerate().any(|(start, window)| {
        let is_equal = |(word, wanted): (&String, &&str)| {
            word == wanted || phrase.len() == 1 && word.strip_suffix('s') == Some(wanted)
        };
        let after_there = phrase.last() == Some(&"no") && start > 0 && words[start - 1] == "there";
        let before_longer = words.get(start + phrase.len()).is_some_and(|word| word == "longer");
        !after_there && !before_longer && window.iter().zip(&phrase).all(is_equal)
    })
}

/// The words of a line in lower case: `NoneIf`, `none_if` and "None if" are `none`, `if`. Punctuation between
/// two words separates phrases, so it counts as a word. So does a backtick: "returns `None` if" is plain
/// English.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for character in line.chars() {
        let starts = character.is_uppercase() && after_small;
        if (starts || !character.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        match words.last_mut() {
            Some(word) if character.is_alphanumeric() => word.extend(character.to_lowercase()),
            Some(word) if matches!(character, ',' | '.' | ';' | ':' | '(' | ')' | '`') => {
                word.push(character);
                words.push(String::new());
            }
            _ => {}
        }
        after_small = character.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repository::sample(&[("a.md", text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn finds_every_spelling_of_a_phrase() {
        let bad = "out_of_line\nOutOfLine\nan out-of-line value\nOUT_OF_LINE\nvaluesOutOfLine\n";
        assert_eq!(lines(bad), [1, 2, 3, 4, 5]);
        assert_eq!(
            lines("/// None if the tree is empty.\nis_asked\npieces\nThat is no request.\n"),
            [1, 2, 3, 4]
        );
    }

    #[test]
    fn names_the_words_to_use() {
        let found = check(&Repository::sample(&[("a.rs", "let delete_marker = 1;\n")]));
        assert_eq!(found[0].to_string(), "a.rs:1: \"delete marker\": write tombstone");
    }

    #[test]
    fn other_words_are_fine() {
        let good = "discard\nmasked\nThere is no room.\nIt is no longer full.\n\
            Returns none, if any\nout of memory\nthe line is out.\n";
        assert!(lines(good).is_empty());
        assert!(lines("/// Returns `None` if the tree is empty.\nNone if full => 1,\n").is_empty());
        assert!(check(&Repository::sample(&[("docs/results/2026/a.md", "so many\n")])).is_empty());
    }
}
