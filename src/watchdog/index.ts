/**
 * Watches user functions in this process: a native thread names a function that never returns, ends the process at its time limit
 * (exit code 124), and handles Ctrl-C during that time. What counts is processor time that the function used, and time that it slept
 * without letting anything else run; time in which a busy machine gave it no processor does not count.
 * Without the bridge to libtorch there is no such thread.
 */
export { cpuTimer, provideWatchdog, Watch, type WatchdogNative } from './watch.js'
