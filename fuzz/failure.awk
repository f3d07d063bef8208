# What a log of libFuzzer says about a failure: the end of the panic's message, what libFuzzer makes of it, and the input.

function show(from, line) {
    for (line = from; line <= count; line++) print message[line]
}

/panicked at/ { panics = 1; count = 0 }
/^stack backtrace:|^note: run with|^==[0-9]+==/ { panics = 0 }
panics { message[++count] = $0 }
/^error(\[|:)|ERROR: |^ALARM: |^SUMMARY: / { reasons = reasons $0 "\n" }
/^Base64: / { input = $2 }

END {
    most = 60
    if (count > most) {
        print message[1]
        print "... " count - most " lines, then:"
        show(count - most + 1)
    } else {
        show(1)
    }
    printf "%s", reasons
    if (input == "") {
        print "no input is to blame; the log says more"
        exit
    }
    print "run it again with the same sources:"
    print "  echo " input " | base64 -d >input"
    print "  cargo +nightly fuzz run " target " input"
}
