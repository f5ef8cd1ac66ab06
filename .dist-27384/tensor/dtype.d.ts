/** Element types, by libtorch's own numbering. */
export declare const dtypeCodes: {
    readonly uint8: 0;
    readonly int8: 1;
    readonly int16: 2;
    readonly int32: 3;
    readonly int64: 4;
    readonly float16: 5;
    readonly float32: 6;
    readonly float64: 7;
    readonly bool: 11;
    readonly bfloat16: 15;
};
export type DType = keyof typeof dtypeCodes;
/** `cpu`, `cuda` (the current one) or `cuda:1`. */
export type Device = 'cpu' | 'cuda' | `cuda:${number}`;
export declare function dtypeOf(code: number): DType;
/** For showing: also a type that has no name here. */
export declare function dtypeName(code: number): string;
export declare function dtypeBytes(dtype: DType): number;
export declare function dtypeCode(dtype: DType): number;
/** libtorch's device type and index; index -1 is the current device. */
export declare function parseDevice(device: Device): {
    type: number;
    index: number;
};
export declare function deviceName(type: number, index: number): Device;
/** The typed array that holds a dtype's elements; the two 16-bit floats are their bits. */
export type TypedArray = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | BigInt64Array;
export interface ArrayOf {
    uint8: Uint8Array;
    int8: Int8Array;
    int16: Int16Array;
    int32: Int32Array;
    int64: BigInt64Array;
    float16: Uint16Array;
    float32: Float32Array;
    float64: Float64Array;
    bool: Uint8Array;
    bfloat16: Uint16Array;
}
export declare function arrayConstructor(dtype: DType): BigInt64ArrayConstructor | Float32ArrayConstructor | Float64ArrayConstructor | Int16ArrayConstructor | Int32ArrayConstructor | Int8ArrayConstructor | Uint16ArrayConstructor | Uint8ArrayConstructor;
/** The dtype a typed array's elements have when nothing else is said. */
export declare function dtypeOfArray(array: TypedArray): DType;
