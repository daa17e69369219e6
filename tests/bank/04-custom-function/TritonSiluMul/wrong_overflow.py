# misconception: exp(g) / (1 + exp(g)) is the sigmoid everywhere
# fails: large gates
# message: tl.sigmoid has no such limit
@triton.jit
def forward_kernel(gate_ptr, up_ptr, out_ptr, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    for begin in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = begin + tl.arange(0, BLOCK)
        mask = i < n
        g = tl.load(gate_ptr + i, mask=mask).to(WIDE)
        u = tl.load(up_ptr + i, mask=mask).to(WIDE)
        tl.store(out_ptr + i, (tl.exp(g) / (1 + tl.exp(g)) * g * u).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_kernel(d_ptr, g_ptr, u_ptr, out_ptr, n, FOR_GATE: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    d = tl.load(d_ptr + i, mask=mask).to(WIDE)
    g = tl.load(g_ptr + i, mask=mask).to(WIDE)
    s = tl.exp(g) / (1 + tl.exp(g))
    if FOR_GATE:
        d = d * tl.load(u_ptr + i, mask=mask).to(WIDE) * (s + g * s * (1 - s))
    else:
        d = d * g * s
    tl.store(out_ptr + i, d.to(out_ptr.dtype.element_ty), mask=mask)


class TritonSiluMul(torch.autograd.Function):
    @staticmethod
    def forward(gate, up):
        out = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
        if out.numel():
            forward_kernel[(3,)](gate.contiguous(), up.contiguous(), out, out.numel(), WIDE=tl.float64 if gate.dtype is torch.float64 else tl.float32, BLOCK=512)
        return out

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        given = [t.reshape(-1).contiguous() for t in (grad, gate, up)]
        found = []
        for i, need in enumerate(ctx.needs_input_grad):
            out = gate.new_empty(gate.shape) if need else None
            if need and gate.numel():
                backward_kernel[lambda meta: (triton.cdiv(gate.numel(), meta["BLOCK"]),)](*given, out, gate.numel(), FOR_GATE=i == 0, WIDE=tl.float64 if gate.dtype is torch.float64 else tl.float32, BLOCK=2048)
            found.append(out)
        return tuple(found)
