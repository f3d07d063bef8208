//! What a device counts, by names of the kernel's `hw_counters`: those of Soft-RoCE, for what that one doesn't count those of
//! mlx5, and of `counters` the bytes of a port.

/// What a counter is kept of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each queue pair, and the device, which also has what destroyed queue pairs have counted.
    QueuePair,
    /// The device only: the queue pair that the event belongs to is unknown.
    Device,
}

/// A counter, without its value.
#[derive(Debug)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// What it counts, in a sentence.
    pub help: &'static str,
    /// What it is kept of.
    pub scope: Scope,
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $scope:ident $name:ident,)*) => {
        /// What a device has counted since it was opened, or a queue pair since it was created.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl Counters {
            /// All of them, in order.
            pub const ALL: &'static [Counter] = &[$(Counter {
                name: stringify!($name),
                help: concat!($($doc),*).trim_ascii_start(),
                scope: Scope::$scope,
            },)*];

            /// What has been counted since.
            pub(crate) const fn since(&self, before: &Self) -> Self {
                Self { $($name: self.$name.wrapping_sub(before.$name),)* }
            }

            /// All of them by name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Words of four bytes sent, from BTH to ICRC, those sent again too.
    QueuePair port_xmit_data,
    /// Words of four bytes that came in packets that were taken, from BTH to ICRC.
    QueuePair port_rcv_data,
    /// Packets sent.
    QueuePair sent_pkts,
    /// Packets that were taken, of a right ICRC.
    QueuePair rcvd_pkts,
    /// Requests that came again.
    QueuePair duplicate_request,
    /// Requests that came before one that was sent earlier.
    QueuePair out_of_seq_request,
    /// RNR NAKs that came.
    QueuePair rcvd_rnr_err,
    /// RNR NAKs that were sent.
    QueuePair send_rnr_err,
    /// NAKs of a sequence error that came.
    QueuePair rcvd_seq_err,
    /// Packets of requests that were sent again.
    QueuePair completer_retry_err,
    /// Requests that failed at the retry limit.
    QueuePair retry_exceeded_err,
    /// Requests that failed at the limit of RNR retries.
    QueuePair retry_rnr_exceeded_err,
    /// Packets that the socket refused.
    Device send_err,
    /// Times that the interface went down.
    Device link_downed,
    /// SENDs that have ended.
    QueuePair rdma_sends,
    /// Receives that something has come for.
    QueuePair rdma_recvs,
    /// Timeouts of acknowledgements.
    QueuePair local_ack_timeout_err,
    /// Packets with a mark of congestion that came.
    QueuePair np_ecn_marked_roce_packets,
    /// Notifications of congestion that were sent.
    QueuePair np_cnp_sent,
    /// Notifications of congestion that came.
    QueuePair rp_cnp_handled,
    /// Round trips that were measured for congestion control.
    QueuePair rtt_measured,
    /// Of them, those by time stamps.
    QueuePair rtt_stamped,
    /// Replies that told of a share of the receiver's link.
    QueuePair shares_heard,
    /// Packets that were dropped for their ICRC.
    Device rx_icrc_encapsulated,
    /// Packets that were dropped for another reason: no packet of RoCEv2, no queue pair of ours, of another peer, service or
    /// partition.
    Device rx_dropped,
    /// Requests of ours that the other end has refused for keys, bounds or rights.
    QueuePair req_remote_access_errors,
    /// Requests of ours that the other end has refused because they make no sense.
    QueuePair req_remote_invalid_request,
    /// Requests of the other end that were refused for keys, bounds or rights.
    QueuePair resp_remote_access_errors,
    /// Requests of the other end that were refused because they make no sense.
    QueuePair resp_remote_invalid_request,
    /// Completions that found no room.
    Device cq_overrun,
    /// Faults on purpose: packets that were lost, altered, marked, held back or repeated, and requests that failed.
    Device injected_faults,
}
