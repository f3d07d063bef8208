//! A device without sockets, threads and clock.

use std::net::{IpAddr, SocketAddr};

use fairlane_units::{Bytes, QpNumber, Time};

use crate::batch::Batches;
use crate::completion::{Completion, CompletionQueue};
use crate::counters::Counters;
use crate::engine::{Engine, Incoming, PORT, Surroundings, TELEMETRY, figures};
use crate::error::Error;
use crate::keys::{Domain, Region};
use crate::memory::Span;
use crate::queue_pair::{Attributes, Modify, QueuePairOptions};
use crate::rights::Rights;
use crate::settings::Settings;
use crate::socket::Sender;
use crate::work::{ReceiveRequest, SendRequest};

/// A software NIC whose driver carries its packets and states the time: a [`Device`](crate::Device) without sockets, threads and clock, for
/// networks that are no sockets, and for tests in virtual time.
///
/// | what happens | call |
/// |---|---|
/// | the application works | objects and requests as of a `Device`, with the time |
/// | a packet has come | [`on_packet`](Self::on_packet) |
/// | [`next_time`](Self::next_time) has come | [`on_time`](Self::on_time) |
/// | after any of these | [`transmit`](Self::transmit) hands out packets |
///
/// Time never goes back. Settings of sockets, threads, files and other processes have no effect.
#[derive(Debug)]
pub struct DetachedDevice {
    engine: Engine,
    batches: Batches,
    ports: Vec<u16>,
    address: IpAddr,
}

/// A packet that leaves: a UDP payload of RoCEv2, ICRC included.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The device that it goes to, at UDP port 4791.
    pub peer: IpAddr,
    /// Its UDP source port.
    pub source_port: u16,
    /// From the base transport header on.
    pub bytes: &'a [u8],
    /// The queue pair that it is of.
    pub pair: QpNumber,
    /// Its traffic class.
    pub class: u8,
}

impl DetachedDevice {
    /// Bytes of the header of data that collects telemetry.
    pub const TELEMETRY: Bytes = TELEMETRY;

    /// A device without objects.
    ///
    /// # Errors
    /// As [`Device::open`](crate::Device::open), but for sockets.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let window = settings.window.unwrap_or(settings.receive_buffer);
        let first = Sender::FIRST_PORT;
        let ports = first..first.saturating_add(settings.source_ports.max(1));
        Ok(Self {
            engine: Engine::new(
                settings,
                Surroundings::sockets(settings, window.max(Bytes::new(8192))),
            )?,
            batches: Batches::single(settings.address),
            ports: ports.collect(),
            address: settings.address,
        })
    }

    /// A device at a port of a network that carries a packet at a time, and pauses classes: the driver [asks](Self::poll_transmit) for
    /// one when the transmitter is free. Its NIC has the settings `nic` instead of those that follow from `settings`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn attached(settings: &Settings, nic: fairlane_nic::Settings) -> Result<Self, Error> {
        let mut device = Self::new(settings)?;
        device.engine = Engine::new(settings, Surroundings::link(nic))?;
        Ok(device)
    }

    /// Its address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// As [`Device::allocate_domain`](crate::Device::allocate_domain).
    ///
    /// # Errors
    /// As there.
    pub fn allocate_domain(&mut self) -> Result<Domain, Error> {
        self.engine.keys.allocate_domain()
    }

    /// As [`Device::allocate`](crate::Device::allocate).
    ///
    /// # Errors
    /// As there.
    pub fn allocate(
        &mut self,
        domain: Domain,
        length: usize,
        rights: Rights,
    ) -> Result<Region, Error> {
        let span = Span::zeroed(length);
        let address = span.address();
        self.engine.keys.register((domain, rights), address, span)
    }

    /// As [`Device::read`](crate::Device::read).
    ///
    /// # Errors
    /// As there.
    pub fn read(&self, region: &Region, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        self.engine.keys.read(region, offset, into)
    }

    /// As [`Device::write`](crate::Device::write).
    ///
    /// # Errors
    /// As there.
    pub fn write(&mut self, region: &Region, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.engine.keys.write(region, offset, bytes)
    }

    /// As [`Device::create_completion_queue`](crate::Device::create_completion_queue).
    ///
    /// # Errors
    /// As there.
    pub fn create_completion_queue(&mut self, capacity: u32) -> Result<CompletionQueue, Error> {
        self.engine.create_completions(capacity)
    }

    /// As [`Device::create_queue_pair`](crate::Device::create_queue_pair).
    ///
    /// # Errors
    /// As there.
    pub fn create_queue_pair(&mut self, options: &QueuePairOptions) -> Result<QpNumber, Error> {
        self.engine.create_pair(options, self.ports.len())
    }

    /// As [`Device::modify`](crate::Device::modify).
    ///
    /// # Errors
    /// As there, but for the MTU of the path, which nobody knows here.
    pub fn modify(&mut self, now: Time, pair: QpNumber, modify: &Modify) -> Result<(), Error> {
        let now = self.engine.at(now);
        self.engine.modify(pair, modify, now)
    }

    /// As [`Device::post_send`](crate::Device::post_send); its packets leave by [`transmit`](Self::transmit).
    ///
    /// # Errors
    /// As there.
    pub fn post_send(
        &mut self,
        now: Time,
        pair: QpNumber,
        request: SendRequest,
    ) -> Result<(), Error> {
        let now = self.engine.at(now);
        self.engine.post_all(pair, [request], now)
    }

    /// As [`Device::post_receive`](crate::Device::post_receive).
    ///
    /// # Errors
    /// As there.
    pub fn post_receive(&mut self, pair: QpNumber, request: ReceiveRequest) -> Result<(), Error> {
        self.engine.post_receive(pair, request)
    }

    /// Moves completions to the end of `into`, at most `most`, and returns how many.
    ///
    /// # Errors
    /// As [`Device::poll`](crate::Device::poll).
    pub fn poll(
        &mut self,
        queue: CompletionQueue,
        most: usize,
        into: &mut Vec<Completion>,
    ) -> Result<usize, Error> {
        let own = self.engine.completions.get_mut(queue.0);
        own.ok_or(Error::Unknown("completion queue"))?
            .poll(most, into)
    }

    /// Takes a packet that has come to UDP port 4791, with its IP identification 0; `marked` says that the network has marked it.
    pub fn on_packet(&mut self, now: Time, source: SocketAddr, bytes: &[u8], marked: bool) {
        let now = self.engine.at(now);
        let incoming = Incoming {
            source,
            bytes,
            marked,
        };
        self.engine.on_packet(now, &incoming, &mut 0);
    }

    /// Does what is due.
    pub fn on_time(&mut self, now: Time) {
        let now = self.engine.at(now);
        self.engine.on_deadline(now);
    }

    /// When something is due or may leave, if nothing else happens before.
    pub fn next_time(&mut self) -> Option<Time> {
        self.engine.next_time()
    }

    /// Hands out all packets that may leave now, in order. With [`Settings::burst`] packets of so long leave ahead of their time.
    pub fn transmit(&mut self, now: Time, mut send: impl FnMut(Outgoing<'_>)) {
        while let Some(outgoing) = self.poll_transmit(now) {
            send(outgoing);
        }
    }

    /// The next packet that may leave now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Outgoing<'_>> {
        let sent = self.batches.all().len();
        self.batches.forget(sent);
        let batches = &mut self.batches;
        self.engine.transmit(now, &self.ports, batches);
        let batch = batches.all().first()?;
        Some(Outgoing {
            peer: batch.way.peer,
            source_port: batch.way.port,
            bytes: batch.bytes(),
            pair: batch.way.pair,
            class: batch.way.class,
        })
    }

    /// When something other than sending is due, for a driver whose link is busy.
    pub fn deadline(&self) -> Option<Time> {
        let peers = &self.engine.in_band.peers;
        let all = [peers.deadline(), self.engine.nic.deadline()];
        all.into_iter().flatten().min()
    }

    /// Learns what a [hello](fairlane_wire::Hello) of another device would tell.
    pub fn meet(&mut self, now: Time, other: &Self) {
        let now = self.engine.at(now);
        let hello = other.engine.in_band.hello();
        let Engine {
            in_band,
            pairs,
            nic,
            ..
        } = &mut self.engine;
        in_band.on_hello(now, other.address, hello, pairs, nic);
    }

    /// The classes of its port that are paused now, as a bit set.
    pub fn on_pauses(&mut self, now: Time, paused: u8) {
        let now = self.engine.at(now);
        self.engine.nic.on_pauses(now, PORT, paused);
    }

    /// As [`Device::query`](crate::Device::query).
    ///
    /// # Errors
    /// As there.
    pub fn query(&self, pair: QpNumber) -> Result<Attributes, Error> {
        self.engine.query(pair)
    }

    /// As [`Device::destroy_queue_pair`](crate::Device::destroy_queue_pair).
    ///
    /// # Errors
    /// As there.
    pub fn destroy_queue_pair(&mut self, now: Time, pair: QpNumber) -> Result<(), Error> {
        let now = self.engine.at(now);
        self.engine.destroy_pair(pair, now)
    }

    /// As [`Device::deregister`](crate::Device::deregister).
    ///
    /// # Errors
    /// As there.
    pub fn deregister(&mut self, region: &Region) -> Result<(), Error> {
        self.engine.keys.deregister(region.local_key)
    }

    /// What its NIC has counted, in all and by tenant.
    pub fn ledger(&self) -> &fairlane_nic::Ledger {
        self.engine.nic.ledger()
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        figures::of_device(&self.engine)
    }
}
