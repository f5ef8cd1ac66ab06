/** A mark of this machine: machines that share a disk do not know each other's processes. */
export declare const machineMark: string;
/**
 * When a process started, in the kernel's ticks since boot: with its number it tells a process from a later one that was
 * given the same number. Undefined when there is no such process, or no way to know. One that has ended and that its parent
 * has not asked about (as under a container's first process, often for good) is none. (As in setup, which runs before what this
 * room imports is installed.)
 */
export declare function processStart(pid: number): string | undefined;
/** Whether the process with this number that started then still runs on this machine. `start` is '0' where it was not known. */
export declare function isProcessAlive(pid: number, start: string): boolean;
