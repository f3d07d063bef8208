mod results; mod spec; pub use results::*; pub use spec::*;
