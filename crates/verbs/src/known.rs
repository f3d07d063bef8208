//! Objects by the numbers that the device has for them: what events are about.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::args::Handle;
use crate::context::Context;
use crate::domain::Pd;
use crate::events::Inbox;
use crate::guard::Errno;
use crate::object::{Object, give};
use crate::owed::Owed;

/// What is known of an object beside its number.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Its address, as the program has it.
    pub(crate) address: usize,
    /// What completion events tell beside it.
    pub(crate) tag: usize,
    /// Where asynchronous events of it go.
    pub(crate) inbox: Arc<Inbox>,
    /// Acknowledgements of completion events.
    pub(crate) completions: Arc<Owed>,
    /// Acknowledgements of asynchronous events.
    pub(crate) events: Arc<Owed>,
}

impl Known {
    /// What is known of an object in a protection domain, whose asynchronous events go to the domain's context.
    pub(crate) fn within(
        pd: &Pd,
        events: Arc<Owed>,
    ) -> Result<impl FnOnce(usize) -> Self + use<>, Errno> {
        let context = Handle::<Context>(pd.public.context).get()?;
        let inbox = context.own.inbox.clone();
        Ok(move |address| Self {
            address,
            tag: 0,
            inbox,
            completions: Arc::default(),
            events,
        })
    }
}

/// Objects of a kind by number.
#[derive(Debug)]
pub(crate) struct Table<K>(Mutex<HashMap<K, Known>>);

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Table<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an object to C, and remembers what is known of it at its address.
    pub(crate) fn publish<T: Object>(
        &self,
        number: K,
        object: Box<T>,
        known: impl FnOnce(usize) -> Known,
    ) -> *const T::Public {
        let given = give(object);
        self.lock().insert(number, known(given.expose_provenance()));
        given
    }

    /// Does something with an object that is known, which doesn't go meanwhile.
    pub(crate) fn with<T>(&self, number: &K, act: impl FnOnce(&Known) -> T) -> Option<T> {
        self.lock().get(number).map(act)
    }

    /// Forgets an object with its events, and waits until those that were taken are acknowledged.
    pub(crate) fn remove(&self, number: &K) {
        let known = self.lock().remove(number);
        if let Some(known) = known {
            known.inbox.purge(known.address);
            known.completions.wait();
            known.events.wait();
        }
    }
}
