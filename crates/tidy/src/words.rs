//! One word for one thing: the glossary of ARCHITECTURE.md, and no synonyms of its words in code, comments or
//! docs.

use crate::{Repository, Source, Violation};

/// Synonyms and the word to use. A synonym is written in lower case without gaps and stands for every way to
/// write it: `pageid` finds `page_id`, `PageIds` and "page ID". The list holds what other systems call our
/// things, so what one is likely to write by habit; it is not to grow beyond a screen.
pub const SYNONYMS: [(&str, &str); 13] = [
    ("pageid", "LID"),
    ("nodeid", "LID"),
    ("pageidentifier", "LID"),
    ("nodeidentifier", "LID"),
    ("mappingtable", "page table"),
    ("indirectiontable", "page table"),
    ("memorypool", "arena"),
    ("deltarecord", "log entry"),
    ("readtimestamp", "read version"),
    ("committimestamp", "write version"),
    ("writetimestamp", "write version"),
    ("garbagecollection", "reclaim"),
    ("garbagecollector", "reclaim"),
];

/// The list itself.
const EXEMPT: &str = "crates/tidy/src/words.rs";

/// Finds synonyms.
pub fn check(repository: &Repository) -> Vec<Violation> {
    repository.sources().filter(|source| source.path != EXEMPT).flat_map(check_source).collect()
}

fn check_source(source: &Source) -> impl Iterator<Item = Violation> {
    source.text.lines().enumerate().flat_map(move |(index, line)| {
        let synonyms = SYNONYMS.iter().filter(move |(synonym, _)| holds(line, synonym));
        synonyms.map(move |(synonym, word)| {
            source.violation(index + 1, format!("\"{synonym}\": the word is {word}"))
        })
    })
}

/// Whether one word of `line`, or two in a row written together, are `synonym` or its plural.
fn holds(line: &str, synonym: &str) -> bool {
    let words = words(line);
    let is_synonym = |text: &str| text == synonym || text.strip_suffix('s') == Some(synonym);
    words.iter().any(|word| is_synonym(word)) || words.windows(2).any(|pair| is_synonym(&pair.concat()))
}

/// The words of a line in lower case: `PageId`, `page_id` and "page id" are `page`, `id`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for character in line.chars() {
        let starts = character.is_uppercase() && after_small;
        if (starts || !character.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (character.is_alphanumeric(), words.last_mut()) {
            word.extend(character.to_lowercase());
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
    fn finds_every_way_to_write_a_synonym() {
        let bad =
            "page_id\nPageId\na page-id\nPAGE_IDS\nnextPageIdentifier\nmemory pools\nGarbage collection\n";
        assert_eq!(lines(bad), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn names_the_word_to_use() {
        let found = check(&Repository::sample(&[("a.rs", "let delta_record = 1;\n")]));
        assert_eq!(found[0].to_string(), "a.rs:1: \"deltarecord\": the word is log entry");
    }

    #[test]
    fn other_words_are_fine() {
        assert!(
            lines("the page table; an id of a page\ngarbage in a file\nthread_id\nstage idle\n").is_empty()
        );
    }
}
