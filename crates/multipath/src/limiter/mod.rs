//! How large a chunk may be, for each path. A limiter is a file of this module and a line in the list.

pub mod adaptive;
pub mod doubling;
pub mod fixed;

use fairlane_units::{Bytes, Duration};

use crate::Settings;

/// What limits the chunks of one path.
pub trait Limit: Clone {
    /// A path before its first chunk.
    fn new(settings: &Settings) -> Self;

    /// The most bytes that the next chunk may have.
    fn limit(&self) -> Bytes;

    /// A chunk of so many bytes was delivered, that long after what came before it on the path.
    fn on_delivered(&mut self, settings: &Settings, bytes: Bytes, after: Duration);

    /// A chunk failed, perhaps for its size.
    fn on_failed(&mut self, _settings: &Settings, _bytes: Bytes) {}
}

/// Hands the list of limiters to a macro: `Type(module, name)` for each, with its documentation.
#[macro_export]
macro_rules! for_each_limiter {
    ($then:ident) => {
        $then! {
            /// One size for all chunks.
            Fixed(fixed, "fixed");
            /// Doubling until a chunk fails, then linear (S3).
            Doubling(doubling, "doubling");
            /// What the path carries in a given time.
            Adaptive(adaptive, "adaptive");
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $variant:ident($module:ident, $name:literal);)*) => {
        crate::names::named! {
            /// How the size of chunks is limited.
            LimiterKind, "limiter";
            $($(#[$doc])* $variant = $name;)*
        }

        /// The limiter of one path, of any kind.
        #[derive(Clone, Debug)]
        pub(crate) enum Limiter {
            $($variant($module::$variant),)*
        }

        impl Limiter {
            pub(crate) fn new(settings: &Settings) -> Self {
                match settings.limiter {
                    $(LimiterKind::$variant => Self::$variant(Limit::new(settings)),)*
                }
            }

            #[inline]
            pub(crate) fn limit(&self) -> Bytes {
                match self {
                    $(Self::$variant(it) => it.limit(),)*
                }
            }

            #[inline]
            pub(crate) fn on_delivered(&mut self, settings: &Settings, bytes: Bytes, after: Duration) {
                match self {
                    $(Self::$variant(it) => it.on_delivered(settings, bytes, after),)*
                }
            }

            pub(crate) fn on_failed(&mut self, settings: &Settings, bytes: Bytes) {
                match self {
                    $(Self::$variant(it) => it.on_failed(settings, bytes),)*
                }
            }
        }
    };
}

for_each_limiter!(define);

const _: () = assert!(size_of::<Limiter>() <= 32);
