//! What a device counts, by the names that Linux gives to `hw_counters` of Soft-RoCE.

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a device has counted since it was opened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            /// All of them by name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Packets sent.
    sent_pkts,
    /// Packets that were taken, of a right ICRC.
    rcvd_pkts,
    /// Requests that came again.
    duplicate_request,
    /// Requests that came before one that was sent earlier.
    out_of_seq_request,
    /// RNR NAKs that came.
    rcvd_rnr_err,
    /// RNR NAKs that were sent.
    send_rnr_err,
    /// NAKs of a sequence error that came.
    rcvd_seq_err,
    /// Packets of requests that were sent again.
    completer_retry_err,
    /// Requests that failed at the retry limit.
    retry_exceeded_err,
    /// Requests that failed at the limit of RNR retries.
    retry_rnr_exceeded_err,
    /// Packets that the socket refused.
    send_err,
    /// SENDs that have ended.
    rdma_sends,
    /// Receives that have ended.
    rdma_recvs,
    /// Timeouts of acknowledgements.
    local_ack_timeout_err,
    /// Packets with a mark of congestion that came.
    np_ecn_marked_roce_packets,
    /// Notifications of congestion that were sent.
    np_cnp_sent,
    /// Notifications of congestion that came.
    rp_cnp_handled,
    /// Packets that were dropped for their ICRC.
    rx_icrc_encapsulated,
    /// Packets that were dropped for another reason: no packet of RoCEv2, no queue pair of ours, of another peer, service or
    /// partition.
    rx_dropped,
    /// Requests that were refused for keys, bounds or rights.
    req_remote_access_errors,
    /// Requests that were refused because they make no sense.
    req_remote_invalid_request,
    /// Completions that found no room.
    cq_overrun,
}
