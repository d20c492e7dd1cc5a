//! Direct gets: the descents of gets, without requests and completions.

use honeycomb_btree::{Descent, Reader, descend_together};
use smallvec::SmallVec;

use crate::accelerator::{DirectGets, Found, Get};
use crate::software::{GROUP, SoftwareAccelerator};
use crate::status::Status;

/// Gets whose descents are interleaved.
type Group<'r, 'k> = SmallVec<[Descent<'r, 'k>; GROUP]>;

impl DirectGets for SoftwareAccelerator {
    fn get_each<'k>(
        &self,
        gets: &mut dyn Iterator<Item = Get<'k>>,
        found: &mut Found<'_>,
    ) -> Result<(), Status> {
        let reader = self.reader(None);
        let (mut group, mut index) = (Group::new(), 0);
        loop {
            let begun = self.begin(&reader, gets, &mut group);
            descend_together(&mut group);
            for descent in &group {
                found(index, descent.get().map(|found| (found.value, found.version)));
                index += 1;
            }
            if begun.is_err() || group.len() < self.parameters.in_flight {
                return begun;
            }
            group.clear();
        }
    }
}

impl SoftwareAccelerator {
    /// Begins the next gets, up to the first one of an unknown table.
    #[inline]
    fn begin<'r, 'k>(
        &self,
        reader: &'r Reader<'r>,
        gets: &mut dyn Iterator<Item = Get<'k>>,
        group: &mut Group<'r, 'k>,
    ) -> Result<(), Status> {
        for Get { table, key } in gets.take(self.parameters.in_flight) {
            let root = self.state.roots.get(table).ok_or(Status::UnknownTable)?;
            group.push(reader.descend_to_get(root, key));
        }
        Ok(())
    }
}
