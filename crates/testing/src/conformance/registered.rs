//! The functions that requests of the conformance suite may use, besides the built-in ones.

use std::sync::Arc;

use honeycomb_hashtable::{Element, FIRST_REGISTERED, Functions};

/// Registers a predicate for odd bytes.
pub(super) fn registered() -> Arc<Functions> {
    let mut functions = Functions::default();
    let odd = functions.register_predicate(Element::U8, 0, Box::new(|element, _| element % 2 == 1));
    assert_eq!(odd.expect("it has few operands"), FIRST_REGISTERED);
    Arc::new(functions)
}
