//! scratch
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let i = fairlane_scenario::hpcc::import(std::path::Path::new(&args[1])).unwrap_or_else(|e| panic!("{e}"));
    i.write(std::path::Path::new(&args[2])).unwrap_or_else(|e| panic!("{e}"));
}
