//! Objects that C holds pointers to.
//!
//! Each begins with what programs look into, of a layout in `abi`, and has behind it what this library keeps.
#![allow(unsafe_code, reason = "C holds pointers to objects")]

use crate::abi::{
    IbvAh, IbvCompChannel, IbvContext, IbvCqEx, IbvDevice, IbvMr, IbvMw, IbvPd, IbvQpEx, IbvSrq,
    IbvTd, VerbsContext,
};
use crate::args::Handle;
use crate::guard::Errno;

/// An object of this library.
pub(crate) trait Object: Sized {
    /// What C knows it as.
    type Public;

    /// The object behind a pointer that C has.
    fn behind(public: *const Self::Public) -> *const Self;

    /// What C sees of an object.
    fn seen(own: *const Self) -> *const Self::Public;

    /// The pointer that C has got.
    fn public(&self) -> *const Self::Public {
        Self::seen(self)
    }
}

/// An object that begins with what C knows.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct With<P, T> {
    pub(crate) public: P,
    pub(crate) own: T,
}

impl<P, T> Object for With<P, T>
where
    P: Begins,
{
    type Public = P::With;

    fn behind(public: *const P::With) -> *const Self {
        public.wrapping_byte_sub(P::AT).cast()
    }

    fn seen(own: *const Self) -> *const P::With {
        own.cast::<P::With>().wrapping_byte_add(P::AT)
    }
}

/// Where in a layout the pointer of C points to, and as what.
///
/// # Safety
/// A value of type `With` must be at `AT`.
pub(crate) unsafe trait Begins {
    type With;
    const AT: usize;
}

macro_rules! begins {
    ($($layout:ty => $with:ty, $at:expr;)*) => {$(
        // SAFETY: it is the layout itself, its first field, or the offset of the field.
        unsafe impl Begins for $layout {
            type With = $with;
            const AT: usize = $at;
        }
    )*};
}
begins! {
    IbvDevice => IbvDevice, 0;
    IbvPd => IbvPd, 0;
    IbvTd => IbvTd, 0;
    IbvMr => IbvMr, 0;
    IbvMw => IbvMw, 0;
    IbvAh => IbvAh, 0;
    IbvCompChannel => IbvCompChannel, 0;
    IbvSrq => IbvSrq, 0;
    IbvCqEx => crate::abi::IbvCq, 0;
    IbvQpEx => crate::abi::IbvQp, 0;
    VerbsContext => IbvContext, std::mem::offset_of!(VerbsContext, context);
}

/// Gives an object to C.
pub(crate) fn give<T: Object>(object: Box<T>) -> *const T::Public {
    T::seen(Box::into_raw(object))
}

/// Takes an object back that C has been given and won't use again.
pub(crate) fn take<T: Object>(handle: Handle<T>) -> Result<Box<T>, Errno> {
    handle.get()?;
    // SAFETY: `give` made the pointer of a box, and verbs that destroy call this once, as the last thing they do with it.
    Ok(unsafe { Box::from_raw(T::behind(handle.0).cast_mut()) })
}
