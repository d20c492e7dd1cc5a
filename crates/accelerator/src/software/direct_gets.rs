//! Direct gets: the descents of gets, without requests and completions.

use honeycomb_btree::{Descent, Reader, Root, descend_together};
use smallvec::SmallVec;

use crate::accelerator::{DirectGets, Found, Get};
use crate::software::{GROUP, SoftwareAccelerator};
use crate::status::Status;

impl DirectGets for SoftwareAccelerator {
    fn get_each(&self, gets: &[Get<'_>], found: &mut Found<'_>) -> Result<(), Status> {
        let reader = self.reader(None);
        if let [get] = gets {
            // A descent alone prefetches more at once.
            let descent = reader.descend_to_get(self.root(get)?, get.key).descend();
            found(0, descent.get().map(|found| (found.value, found.version)));
            return Ok(());
        }
        let mut index = 0;
        for group in gets.chunks(self.parameters.in_flight) {
            let (mut descents, begun) = self.begin(&reader, group);
            descend_together(&mut descents);
            for descent in &descents {
                found(index, descent.get().map(|found| (found.value, found.version)));
                index += 1;
            }
            begun?;
        }
        Ok(())
    }
}

impl SoftwareAccelerator {
    /// Returns the descents of the gets before the first one of an unknown table.
    #[inline]
    fn begin<'r, 'k>(
        &self,
        reader: &'r Reader<'r>,
        gets: &[Get<'k>],
    ) -> (SmallVec<[Descent<'r, 'k>; GROUP]>, Result<(), Status>) {
        let mut descents = SmallVec::new();
        for get in gets {
            match self.root(get) {
                Ok(root) => descents.push(reader.descend_to_get(root, get.key)),
                Err(status) => return (descents, Err(status)),
            }
        }
        (descents, Ok(()))
    }

    #[inline]
    fn root(&self, get: &Get<'_>) -> Result<Root, Status> {
        self.state.roots.get(get.table).ok_or(Status::UnknownTable)
    }
}
