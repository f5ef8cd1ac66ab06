/** The machine as libtorch sees it: devices, threads, memory, streams. */
import { mailbox } from './call.js';
import { parseDevice } from './dtype.js';
import { DeviceError, fromNative } from './errors.js';
import { native } from './native.js';
export function backend() {
    const { libtorchVersion, operatorCount, config, cuda, graphs, devices } = native.machine();
    return {
        libtorchVersion,
        operatorCount,
        threads: native.threads(),
        config,
        cuda: {
            available: cuda !== 0,
            graphs: graphs !== 0,
            devices: devices.map(({ name, totalBytes, capability, multiprocessors }) => ({
                name,
                totalBytes,
                capability: capability.toFixed(1),
                multiprocessors,
            })),
        },
    };
}
/** How many threads an operator may use on the CPU; answers with the number in force. */
export function threads(count) {
    try {
        return count === undefined ? native.threads() : native.threads(count);
    }
    catch (thrown) {
        throw fromNative(thrown);
    }
}
/** They stay what they are, and asking for them takes a millisecond. */
let cudaDevices;
/** Undefined for the CPU, and where there is no such device. */
export function cudaDevice(device) {
    if (device === 'cpu')
        return undefined;
    cudaDevices ??= backend().cuda.devices;
    return cudaDevices[Math.max(0, parseDevice(device).index)];
}
/** What configs and commands take for a device; {@link resolveDevice} says which one it is. */
export const devicePattern = /^(auto|cpu|cuda(:\d{1,3})?)$/;
export const expectedDevice = 'expected auto, cpu, cuda or cuda:N';
/** `auto` is the GPU where libtorch and a driver have one. Every other word is itself. */
export function resolveDevice(device, { available, devices } = backend().cuda) {
    if (device !== 'auto')
        return device;
    return available && devices.length > 0 ? 'cuda' : 'cpu';
}
/**
 * The device itself, where this machine has it; a {@link DeviceError} where it does not. Asked before anything is loaded:
 * libtorch's own answer is a hundred lines long.
 */
export function requireDevice(device, { available, devices } = device === 'cpu'
    ? noCuda
    : backend().cuda) {
    if (device === 'cpu')
        return device;
    const remedy = '`whetstone doctor` shows what there is; `auto` takes a GPU where there is one, and the CPU elsewhere.';
    if (!available || devices.length === 0)
        throw new DeviceError(`there is no ${device} on this machine: libtorch finds no usable CUDA device`, { remedy });
    if (Math.max(0, parseDevice(device).index) >= devices.length)
        throw new DeviceError(`there is no ${device} on this machine: the devices are ${deviceRange(devices.length)}`, {
            remedy,
        });
    return device;
}
const noCuda = { available: false, devices: [] };
const deviceRange = (count) => (count === 1 ? 'cuda:0 alone' : `cuda:0 to cuda:${count - 1}`);
export function memoryUse(device = 'cpu', options = {}) {
    const { type, index } = parseDevice(device);
    try {
        native.memory(type, index, options.resetPeak ?? false);
    }
    catch (thrown) {
        throw fromNative(thrown);
    }
    const [bytes, peakBytes, reservedBytes, liveTensors, peakTensors] = mailbox();
    return { bytes, peakBytes, reservedBytes, liveTensors, peakTensors };
}
/** Resolves when everything started on the device has finished. */
export async function synchronize(device = 'cuda') {
    const { type, index } = parseDevice(device);
    try {
        await native.synchronize(type, index);
    }
    catch (thrown) {
        throw fromNative(thrown);
    }
}
/** A queue of a CUDA device. Work on different streams may overlap; `waitFor` orders it. */
export class Stream {
    ref;
    constructor(device = 'cuda') {
        const { type, index } = parseDevice(device);
        try {
            this.ref = native.newStream(type, index);
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
    }
    /** Runs `fn` with its eager operators on this stream. */
    use(fn) {
        const before = native.useStream(this.ref);
        try {
            return fn();
        }
        finally {
            native.useStream(before);
        }
    }
    /** What comes next here starts after what was started on `other`. */
    waitFor(other) {
        try {
            native.streamWaits(this.ref, other.ref);
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
    }
}
//# sourceMappingURL=device.js.map