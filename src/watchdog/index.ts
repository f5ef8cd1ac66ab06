/**
 * Watches user functions in this process: a native thread names a function that never returns, ends the process at its time limit
 * (exit code 124), and handles Ctrl-C during that time. Time in which the machine gave the process no processor does not count.
 * Without the bridge to libtorch there is no such thread.
 */
export { cpuTimer, provideWatchdog, Watch, type WatchdogNative } from './watch.js'
