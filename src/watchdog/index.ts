/**
 * For functions of other people that run in this process: a native thread that names the one that never gives control back, ends the
 * process at its time limit (exit code 124), and hears Ctrl-C meanwhile. Without the bridge to libtorch there is no such thread.
 */
export { provideWatchdog, Watch, type WatchdogNative } from './watch.js'
