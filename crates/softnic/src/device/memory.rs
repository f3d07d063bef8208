//! Protection domains, memory regions and windows.
//!
//! Invariant of the `unsafe` block: who registers memory of an application promises that it stays allocated.

use super::Device;
use crate::error::Error;
use crate::keys::{Domain, Region, Window, WindowType};
use crate::memory::{Span, is_mapped};
use crate::rights::Rights;

impl Device {
    /// A new protection domain.
    ///
    /// # Errors
    /// If there are as many as there may be.
    pub fn allocate_domain(&self) -> Result<Domain, Error> {
        self.with(|inner| inner.engine.keys.allocate_domain())
    }

    /// Forgets a protection domain.
    ///
    /// # Errors
    /// If it isn't known, or regions, queue pairs or shared queues have it.
    pub fn free_domain(&self, domain: Domain) -> Result<(), Error> {
        self.with(|inner| {
            let (mut pairs, mut receives) =
                (inner.engine.pairs.iter(), inner.engine.receives.iter());
            if pairs.any(|(_, pair)| pair.options.domain == domain)
                || receives.any(|(_, queue)| queue.domain == domain)
            {
                return Err(Error::Busy("protection domain"));
            }
            inner.engine.keys.free_domain(domain)
        })
    }

    /// Registers new memory of zeros, which the device owns.
    ///
    /// # Errors
    /// If the domain isn't known, or others shall write what can't be written here.
    pub fn allocate(&self, domain: Domain, length: usize, rights: Rights) -> Result<Region, Error> {
        let span = Span::zeroed(length);
        let address = span.address();
        self.with(|inner| inner.engine.keys.register((domain, rights), address, span))
    }

    /// A null region, in which every address of this end is: what is written there is dropped, what is read is zeros. It has no
    /// key for the other end, and stays as it is.
    ///
    /// # Errors
    /// If the domain isn't known.
    pub fn allocate_null(&self, domain: Domain) -> Result<Region, Error> {
        self.with(|inner| inner.engine.keys.register_null(domain))
    }

    /// Registers memory of the application, which requests name by `name`, usually its address.
    ///
    /// # Safety
    /// `length` bytes at `start` must stay allocated for reads and writes by any thread until the region is
    /// deregistered or the device dropped. Rust references to them must not be used while requests or others may
    /// touch them.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), and if the end is beyond 64 bits or some of the memory isn't mapped.
    #[expect(unsafe_code, reason = "memory of the application is known by address")]
    pub unsafe fn register(
        &self,
        domain: Domain,
        (start, length): (*mut u8, usize),
        name: u64,
        rights: Rights,
    ) -> Result<Region, Error> {
        if !is_mapped(start, length) {
            return Err(Error::Invalid("memory region", "memory that is mapped"));
        }
        // SAFETY: the caller promises it.
        let span = unsafe { Span::at(start, length) };
        self.with(|inner| inner.engine.keys.register((domain, rights), name, span))
    }

    /// Gives a region another domain or other rights; its keys stay.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), and if it isn't known or windows are bound to it.
    pub fn reregister(
        &self,
        region: &Region,
        domain: Option<Domain>,
        rights: Option<Rights>,
    ) -> Result<(), Error> {
        self.with(|inner| {
            let keys = &mut inner.engine.keys;
            keys.reregister(region.local_key, domain, rights)
        })
    }

    /// A new memory window, bound to nothing; [`Operation::Bind`](crate::Operation::Bind) binds it.
    ///
    /// # Errors
    /// If the domain isn't known.
    pub fn allocate_window(&self, domain: Domain, kind: WindowType) -> Result<Window, Error> {
        self.with(|inner| inner.engine.keys.allocate_window(domain, kind))
    }

    /// Forgets a memory window, of which `key` is any key that it has had.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn free_window(&self, key: u32) -> Result<(), Error> {
        self.with(|inner| inner.engine.keys.free_window(key))
    }

    /// Forgets a region. From then on nothing touches its memory; requests that name it fail.
    ///
    /// # Errors
    /// If it isn't known, or windows are bound to it.
    pub fn deregister(&self, region: &Region) -> Result<(), Error> {
        self.with(|inner| inner.engine.keys.deregister(region.local_key))
    }

    /// Copies bytes out of a region.
    ///
    /// # Errors
    /// If it isn't known or too short.
    pub fn read(&self, region: &Region, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        self.with(|inner| inner.engine.keys.read(region, offset, into))
    }

    /// Copies bytes into a region.
    ///
    /// # Errors
    /// If it isn't known or too short.
    pub fn write(&self, region: &Region, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.with(|inner| inner.engine.keys.write(region, offset, bytes))
    }
}
