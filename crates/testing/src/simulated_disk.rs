//! A disk that loses, reorders and tears what is not durable, and fails on request.
//!
//! A power cut keeps, for each sector of 512 bytes that was written since the last sync of its file, one of
//! the contents that the sector has had since then. It keeps any subset of the changes of names since the
//! last sync of the directory. After a failed sync, the sectors or names that it should have made durable
//! stay uncertain, even if a later sync succeeds, as on real systems that forget that they were changed: a
//! sector until it is written again, a name for ever. Calls that change the disk and calls that read have
//! numbers of their own, so a fault names either kind.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_log::{Storage, StorageFile};

use crate::random::Random;

const SECTOR: usize = honeycomb_layout::WAL_SECTOR_BYTES;
/// The name of the directory in errors of the log.
const THE_DIRECTORY: &str = "the directory";

/// A simulated disk. Clones are handles to the same disk.
#[derive(Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<Disk>>);

/// A failure of one call that changes the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// The power fails during the call, and all later calls fail.
    PowerCut,
    /// The call fails, after it has changed an unknown part of the bytes.
    Error,
    /// Calls that need room fail: this one and later ones, until [`SimulatedDisk::add_room`].
    Full,
}

/// The call that a fault strikes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failing {
    Call(u64),
    /// The next write to a file whose name ends like this.
    WriteTo(&'static str),
}

/// What a power cut keeps of the changes that were not durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// Everything.
    Everything,
    /// A random choice for each sector and name, with this seed.
    Random(u64),
}

#[derive(Default)]
struct Disk {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// The changes of names that are not part of `durable_names`, in order.
    name_changes: Vec<(NameChange, Fate)>,
    calls: u64,
    fault: Option<(Failing, DiskFault)>,
    reads: u64,
    failing_read: Option<u64>,
    /// The file of the read that has failed.
    failed_read: Option<String>,
    is_off: bool,
    is_full: bool,
}

/// A change of the names of files.
#[derive(Clone)]
enum NameChange {
    /// The file has this name, and no other one.
    Name(String, usize),
    Remove(String),
}

/// What a power cut does to a change of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The change may be lost, until the next sync of the directory.
    Pending,
    /// The change may be lost, because a sync of the directory has failed.
    Forgotten,
    Durable,
}

#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    durable_length: usize,
    /// For each sector with changes that are not durable: its durable content and all later ones.
    uncertain: BTreeMap<usize, Uncertain>,
}

struct Uncertain {
    contents: Vec<[u8; SECTOR]>,
    /// Whether a sync has failed to make the sector durable.
    is_forgotten: bool,
}

struct Handle {
    disk: SimulatedDisk,
    file: usize,
}

impl SimulatedDisk {
    /// Makes the call with this number fail: calls that change the disk count, from 0 on.
    pub fn fail(&self, call: u64, fault: DiskFault) {
        self.lock().fault = Some((Failing::Call(call), fault));
    }

    /// Makes the next write to a file fail whose name ends with `ending`, whatever calls of other threads
    /// precede it.
    pub fn fail_write(&self, ending: &'static str, fault: DiskFault) {
        self.lock().fault = Some((Failing::WriteTo(ending), fault));
    }

    /// Returns the number of calls so far that change the disk.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Makes the read with this number fail: calls that change nothing count, from 0 on. Later reads succeed.
    pub fn fail_read(&self, read: u64) {
        let mut disk = self.lock();
        (disk.failing_read, disk.failed_read) = (Some(read), None);
    }

    /// Returns the number of calls so far that change nothing.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.lock().reads
    }

    /// Returns the name of the file of the read that has failed, if one has. It is that of the directory if
    /// the read was of the names of all files.
    #[must_use]
    pub fn failed_read(&self) -> Option<String> {
        self.lock().failed_read.clone()
    }

    /// Makes all calls fail that need room, until [`SimulatedDisk::add_room`].
    pub fn fill(&self) {
        self.lock().is_full = true;
    }

    /// Ends the state in which the disk is full.
    pub fn add_room(&self) {
        self.lock().is_full = false;
    }

    /// Returns the disk after a power cut at this moment, without faults.
    #[must_use]
    pub fn after_power_cut(&self, kept: Kept) -> Self {
        let mut random = match kept {
            Kept::Random(seed) => Some(Random::new(seed)),
            _ => None,
        };
        let mut choose = |count: usize| match (&mut random, kept) {
            (Some(random), _) => random.below(count),
            (None, Kept::Nothing) => 0,
            (None, _) => count - 1,
        };
        let disk = self.lock();
        let names = disk.names_after_power_cut(&mut choose);
        let files = disk.files.iter().map(|file| file.after_power_cut(&mut choose)).collect();
        Self(Arc::new(Mutex::new(Disk { files, durable_names: names.clone(), names, ..Disk::default() })))
    }

    /// Returns the names and lengths of all files.
    #[must_use]
    pub fn files(&self) -> Vec<(String, usize)> {
        let disk = self.lock();
        disk.names.iter().map(|(name, &file)| (name.clone(), disk.files[file].bytes.len())).collect()
    }

    /// Flips a bit of a file.
    ///
    /// # Panics
    /// If the file does not exist or is too short.
    pub fn flip(&self, name: &str, offset: usize, bit: u32) {
        let mut disk = self.lock();
        let file = disk.names[name];
        disk.files[file].bytes[offset] ^= 1 << bit;
    }

    /// Truncates a file.
    ///
    /// # Panics
    /// If the file does not exist.
    pub fn truncate(&self, name: &str, length: usize) {
        let mut disk = self.lock();
        let file = disk.names[name];
        disk.files[file].bytes.truncate(length);
    }

    /// Returns an independent copy of the disk, with all changes durable.
    #[must_use]
    pub fn copy(&self) -> Self {
        self.after_power_cut(Kept::Everything)
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File {
    fn after_power_cut(&self, choose: &mut impl FnMut(usize) -> usize) -> Self {
        let mut bytes = self.bytes.clone();
        for (&sector, uncertain) in &self.uncertain {
            let content = uncertain.contents[choose(uncertain.contents.len())];
            let end = bytes.len().min((sector + 1) * SECTOR);
            bytes[sector * SECTOR..end].copy_from_slice(&content[..end - sector * SECTOR]);
        }
        if self.durable_length < bytes.len() && choose(2) == 0 {
            bytes.truncate(self.durable_length);
        }
        Self { durable_length: bytes.len(), bytes, uncertain: BTreeMap::new() }
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        if self.bytes.len() < offset + bytes.len() {
            self.bytes.resize(offset + bytes.len(), 0);
        }
        let sectors = offset / SECTOR..(offset + bytes.len()).div_ceil(SECTOR);
        for sector in sectors.clone() {
            let content = self.sector(sector);
            let unchanged = || Uncertain { contents: vec![content], is_forgotten: false };
            self.uncertain.entry(sector).or_insert_with(unchanged).is_forgotten = false;
        }
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        for sector in sectors {
            let content = self.sector(sector);
            self.uncertain.entry(sector).and_modify(|uncertain| uncertain.contents.push(content));
        }
    }

    fn sector(&self, sector: usize) -> [u8; SECTOR] {
        let mut content = [0; SECTOR];
        let end = self.bytes.len().min((sector + 1) * SECTOR);
        content[..end - sector * SECTOR].copy_from_slice(&self.bytes[sector * SECTOR..end]);
        content
    }

    fn sync(&mut self, sectors: impl Fn(usize) -> bool) {
        self.uncertain.retain(|&sector, uncertain| uncertain.is_forgotten || !sectors(sector));
        self.durable_length = self.bytes.len();
    }

    fn forget(&mut self) {
        self.uncertain.values_mut().for_each(|uncertain| uncertain.is_forgotten = true);
    }
}

impl Disk {
    /// Counts a call that changes the disk, and returns whether it fails.
    fn call(&mut self, needs_room: bool) -> Result<Option<DiskFault>, io::Error> {
        if self.is_off {
            return Err(io::Error::other("the power is off"));
        }
        let call = self.calls;
        self.calls += 1;
        let fault = self.fault.filter(|(at, _)| *at == Failing::Call(call)).map(|(_, fault)| fault);
        self.is_off = fault == Some(DiskFault::PowerCut);
        self.is_full |= fault == Some(DiskFault::Full);
        if self.is_full && needs_room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(fault.filter(|fault| *fault != DiskFault::Full))
    }

    /// Counts a write, as [`Disk::call`] does.
    fn write_call(&mut self, file: usize, end: usize) -> Result<Option<DiskFault>, io::Error> {
        if let Some((Failing::WriteTo(ending), fault)) = self.fault
            && self.name_of(file).ends_with(ending)
        {
            self.fault = Some((Failing::Call(self.calls), fault));
        }
        self.call(end > self.files[file].bytes.len())
    }

    fn result(fault: Option<DiskFault>) -> io::Result<()> {
        fault.map_or(Ok(()), |fault| Err(io::Error::other(format!("simulated: {fault:?}"))))
    }

    /// Counts a call that changes nothing, and fails if it is the one that was requested to. `name` returns
    /// the name of its file.
    fn read(&mut self, name: impl FnOnce(&Self) -> String) -> io::Result<()> {
        self.check_power()?;
        let read = self.reads;
        self.reads += 1;
        if self.failing_read != Some(read) {
            return Ok(());
        }
        self.failed_read = Some(name(self));
        Self::result(Some(DiskFault::Error))
    }

    fn name_of(&self, file: usize) -> String {
        let name = self.names.iter().find(|(_, named)| **named == file);
        name.map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn check_power(&self) -> io::Result<()> {
        if self.is_off { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.check_power()?;
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push((change, Fate::Pending));
    }

    fn end_pending_names(&mut self, fate: Fate) {
        let pending = self.name_changes.iter_mut().filter(|(_, fate)| *fate == Fate::Pending);
        pending.for_each(|(_, old)| *old = fate);
        if self.name_changes.iter().all(|(_, fate)| *fate == Fate::Durable) {
            self.durable_names = self.names.clone();
            self.name_changes.clear();
        }
    }

    fn names_after_power_cut(&self, choose: &mut impl FnMut(usize) -> usize) -> BTreeMap<String, usize> {
        let mut names = self.durable_names.clone();
        for (change, fate) in &self.name_changes {
            if *fate == Fate::Durable || choose(2) == 1 {
                change.apply(&mut names);
            }
        }
        names
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Name(name, file) => {
                names.retain(|_, named| named != file);
                names.insert(name.clone(), *file);
            }
            Self::Remove(name) => drop(names.remove(name)),
        }
    }
}

impl Storage for SimulatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut disk = self.lock();
        disk.read(|_| THE_DIRECTORY.to_owned())?;
        Ok(disk.names.keys().cloned().collect())
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn StorageFile>> {
        let mut disk = self.lock();
        let fault = disk.call(true)?;
        let file = disk.files.len();
        let bytes = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
        disk.files.push(File { bytes, ..File::default() });
        disk.change_names(NameChange::Name(name.to_owned(), file));
        Disk::result(fault)?;
        Ok(Box::new(Handle { disk: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut disk = self.lock();
        disk.read(|_| name.to_owned())?;
        let file = disk.find(name)?;
        Ok(Box::new(Handle { disk: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.lock();
        let file = disk.find(from)?;
        let fault = disk.call(false)?;
        disk.change_names(NameChange::Name(to.to_owned(), file));
        Disk::result(fault)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.lock();
        disk.find(name)?;
        let fault = disk.call(false)?;
        disk.change_names(NameChange::Remove(name.to_owned()));
        Disk::result(fault)
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut disk = self.lock();
        let fault = disk.call(false)?;
        disk.end_pending_names(if fault.is_none() { Fate::Durable } else { Fate::Forgotten });
        Disk::result(fault)
    }
}

impl StorageFile for Handle {
    fn length(&self) -> io::Result<u64> {
        let mut disk = self.disk.lock();
        disk.read(|disk| disk.name_of(self.file))?;
        Ok(disk.files[self.file].bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut disk = self.disk.lock();
        disk.read(|disk| disk.name_of(self.file))?;
        let rest = disk.files[self.file].bytes.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(bytes.len());
        bytes[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let fault = disk.write_call(self.file, offset as usize + bytes.len())?;
        disk.files[self.file].write(offset as usize, bytes);
        Disk::result(fault)
    }

    fn write_durable_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let fault = disk.write_call(self.file, offset as usize + bytes.len())?;
        let file = &mut disk.files[self.file];
        file.write(offset as usize, bytes);
        if fault.is_none() {
            let (first, last) = (offset as usize / SECTOR, (offset as usize + bytes.len()).div_ceil(SECTOR));
            file.sync(|sector| (first..last).contains(&sector));
        }
        Disk::result(fault)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let fault = disk.call(false)?;
        let file = &mut disk.files[self.file];
        if fault.is_none() {
            file.sync(|_| true)
        } else {
            file.forget()
        }
        Disk::result(fault)
    }
}
