//! What isn't there, or not needed, and what programs ask of sysfs.

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::abi::{Ece, Gid, OrMinus};
use crate::args::{Handle, In, Out};
use crate::guard::{Errno, entry};
use crate::pair::Qp;

/// `IBV_FORK_UNNEEDED`: memory isn't pinned, so that children don't lose it.
const FORK_UNNEEDED: c_int = 2;

entry! {
    fn ibv_attach_mcast(_qp: Handle<Qp>, _group: In<Gid>, _lid: u16) -> c_int {
        Err(Errno::NOT_SUPPORTED)
    }

    fn ibv_detach_mcast(_qp: Handle<Qp>, _group: In<Gid>, _lid: u16) -> c_int {
        Err(Errno::NOT_SUPPORTED)
    }

    fn ibv_fork_init() -> c_int {
        Ok(0)
    }

    fn ibv_is_fork_initialized() -> c_int {
        Ok(FORK_UNNEEDED)
    }

    fn ibv_dontfork_range(_start: *const c_void, _length: usize) -> c_int {
        Ok(0)
    }

    fn ibv_dofork_range(_start: *const c_void, _length: usize) -> c_int {
        Ok(0)
    }

    /// Packets of a WRITE may be placed again when they are repeated: there is no order within one.
    fn ibv_query_qp_data_in_order(_qp: Handle<Qp>, _operation: c_int, _flags: u32) -> c_int {
        Ok(0)
    }

    fn ibv_set_ece(_qp: Handle<Qp>, _ece: In<Ece>) -> c_int {
        Err(Errno::NOT_SUPPORTED)
    }

    /// None of a vendor's: zeros, as the manual page says.
    fn ibv_query_ece(_qp: Handle<Qp>, ece: Out<Ece>) -> c_int {
        ece.set(Ece {
            vendor_id: 0,
            options: 0,
            comp_mask: 0,
        })?;
        Ok(0)
    }

    fn ibv_get_sysfs_path() -> *const c_char {
        Ok(c"/sys".as_ptr())
    }

    /// The length of a file's content without what is white at its end; -1 if it can't be read.
    fn ibv_read_sysfs_file(folder: In<c_char>, file: In<c_char>, into: Out<u8>, room: usize) -> OrMinus<c_int> {
        let path = |text: In<c_char>| text.text().map(|text| OsStr::from_bytes(text.to_bytes()));
        let path = Path::new(path(folder)?).join(path(file)?);
        let content = std::fs::read(path);
        let content = content.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?;
        let content = content.trim_ascii_end();
        let into = into.array(room)?;
        let length = content.len().min(room.saturating_sub(1));
        let zero = std::iter::once(&0);
        for (to, byte) in into.iter_mut().zip(content[..length].iter().chain(zero)) {
            to.write(*byte);
        }
        Ok(OrMinus(length as c_int))
    }
}
